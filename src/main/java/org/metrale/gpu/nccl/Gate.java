package org.metrale.gpu.nccl;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.metrale.gpu.Backoff;

/**
 * Lets one caller at a time into a native communicator. A thread that comes again and again becomes
 * its owner and gets in without an atomic instruction, until somebody else comes.
 *
 * <p>Invariant: whoever has passed {@link #enter} is alone, since the owner was disowned before and
 * was seen outside. A gate that is shut never opens again.
 */
final class Gate {
  private static final int OPEN = 0;

  /** Somebody is inside and has not written down yet which memory it will use. */
  private static final int CHECKING = 1;

  /** Somebody is inside. */
  private static final int INSIDE = 2;

  private static final int CLOSED = 3;

  /** Shut while somebody is inside. */
  private static final int CLOSING = 4;

  private static final VarHandle STATE;
  private static final VarHandle OWNER;

  static {
    try {
      STATE = MethodHandles.lookup().findVarHandle(Gate.class, "state", int.class);
      OWNER = MethodHandles.lookup().findVarHandle(Gate.class, "owner", Owner.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private final RankState rank;
  private volatile int state;

  /** Grows whenever somebody inside has written down which memory it uses, or leaves. */
  private final AtomicLong checks = new AtomicLong();

  /** Who waits, in the order in which they came. */
  private final ConcurrentLinkedQueue<Turn> turns = new ConcurrentLinkedQueue<>();

  /** Not null as long as it may still be inside. Written behind the gate. */
  private volatile Owner owner;

  /** Who issued an operation last without owning the gate. Behind the gate. */
  private Thread last;

  /** Native memory from which operations are issued; 0 before there was one. */
  private volatile long memory;

  Gate(RankState rank) {
    this.rank = rank;
  }

  /** The owner's record if the calling thread is it. */
  Owner mine() {
    // Without an order: what makes the thread an owner it wrote itself, and the call tells the
    // rest.
    Owner known = (Owner) OWNER.get(this);
    return known != null && known.thread == Thread.currentThread() ? known : null;
  }

  /** Takes the gate, waiting for whoever holds it. */
  void enter(Duration timeout) {
    enter(INSIDE, timeout);
  }

  /** Takes the gate for one who has yet to write down which memory it uses. */
  void enterChecking(Duration timeout) {
    enter(CHECKING, timeout);
  }

  /** Memory is written down. */
  void checked() {
    if (!STATE.compareAndSet(this, CHECKING, INSIDE)) {
      throw closed();
    }
    checks.incrementAndGet();
  }

  private void enter(int as, Duration timeout) {
    long begin = System.nanoTime();
    // Nobody overtakes those who wait: a thread that comes all the time would keep them out.
    boolean in = turns.isEmpty() && STATE.compareAndSet(this, OPEN, as);
    if (in || awaitTurn(as, timeout)) {
      long left = Backoff.nanos(timeout) - (System.nanoTime() - begin);
      if (keptAlone(Duration.ofNanos(Math.max(0, left)))) {
        return;
      }
    }
    if (isShut()) {
      throw closed();
    }
    rank.requireHealthy();
    throw new IllegalStateException(rank + " is still busy with another call after " + timeout);
  }

  private boolean awaitTurn(int as, Duration timeout) {
    Turn mine = new Turn(Thread.currentThread(), as);
    turns.add(mine);
    // The gate may have opened before anybody could see this turn.
    boolean over = false;
    try {
      handOver();
      Waiting.quietly(() -> isShut() || mine.isGranted(), timeout);
      over = true;
    } finally {
      if (!over && !mine.giveUp()) {
        leave();
      }
    }
    if (mine.isGranted() || !mine.giveUp()) {
      return true;
    }
    turns.remove(mine);
    return false;
  }

  /** For who has just taken the gate: keeps it if nobody else is inside, else leaves. */
  private boolean keptAlone(Duration timeout) {
    boolean alone = false;
    try {
      alone = ousted(timeout);
      return alone;
    } finally {
      if (!alone) {
        leave();
      }
    }
  }

  /** Lets the first in who waits, if the gate is open. */
  private void handOver() {
    for (Turn first = turns.peek(); first != null && state == OPEN; first = turns.peek()) {
      if (STATE.compareAndSet(this, OPEN, first.as)) {
        turns.remove(first);
        if (first.grant()) {
          LockSupport.unpark(first.thread);
          return;
        }
        open();
      }
    }
  }

  /** One who waits. */
  private static final class Turn {
    private static final int WAITING = 0;
    private static final int GRANTED = 1;
    private static final int GIVEN_UP = 2;

    final Thread thread;
    final int as;
    private final AtomicInteger state = new AtomicInteger(WAITING);

    Turn(Thread thread, int as) {
      this.thread = thread;
      this.as = as;
    }

    boolean isGranted() {
      return state.get() == GRANTED;
    }

    boolean grant() {
      return state.compareAndSet(WAITING, GRANTED);
    }

    boolean giveUp() {
      return state.compareAndSet(WAITING, GIVEN_UP);
    }
  }

  /** Takes the gate if nobody is inside. */
  boolean tryEnter() {
    return STATE.compareAndSet(this, OPEN, INSIDE) && keptAlone(Duration.ZERO);
  }

  /** Whether there is no owner any more that could be inside. */
  private boolean ousted(Duration timeout) {
    Owner old = owner;
    if (old == null) {
      return true;
    }
    disown();
    if (old.thread != Thread.currentThread()) {
      NcclCalls.barrier();
    }
    // Seen outside once, it may come again: it then learns that it is no owner any more.
    boolean[] seenOutside = {!old.isBusy()};
    if (!seenOutside[0]) {
      Waiting.quietly(() -> seenOutside[0] = !old.isBusy(), timeout);
    }
    if (seenOutside[0]) {
      owner = null;
    }
    // Else it stays the owner, so that the next one who comes waits for it too.
    return seenOutside[0];
  }

  /** From the next barrier on nobody gets in without the gate, and an owner inside is seen. */
  boolean disown() {
    // Read once: who frees this meanwhile gives the memory back, which stays readable.
    long known = memory;
    if (owner == null || known == 0) {
      return false;
    }
    NcclCalls.disown(known);
    return true;
  }

  /** Native memory from which operations are issued. Behind the gate. */
  long memory() {
    long known = memory;
    if (known == 0) {
      known = NcclCalls.openRank(rank.handle());
      memory = known;
    }
    return known;
  }

  /**
   * Makes the calling thread the owner if it was here last time too. Behind the gate.
   *
   * @param next the number of the next operation
   */
  void reward(long next) {
    if (isShut() || rank.failure() != null) {
      // Nobody would take it away again.
      return;
    }
    Thread me = Thread.currentThread();
    if (last != me) {
      last = me;
      return;
    }
    long epoch = NcclCalls.own(memory(), rank.events.address(), rank.events.capacity(), next);
    Owner rewarded = new Owner(me, memory, epoch, next);
    rewarded.lookForAttachment(rank.context);
    owner = rewarded;
    if (rank.failure() != null) {
      // Who failed it may have looked before.
      disown();
    }
  }

  /** Leaves; the gate opens unless it was shut meanwhile. */
  void leave() {
    checks.incrementAndGet();
    open();
    if (!turns.isEmpty()) {
      handOver();
    }
    if (state == CLOSED) {
      rank.freeIfOver();
    }
  }

  private void open() {
    int now = state;
    while (now != CLOSED && !STATE.compareAndSet(this, now, now == CLOSING ? CLOSED : OPEN)) {
      now = state;
    }
  }

  /** Nobody gets in any more; whoever is inside stays there, and is seen until he leaves. */
  void shut() {
    int now = state;
    while (now < CLOSED && !STATE.compareAndSet(this, now, now == OPEN ? CLOSED : CLOSING)) {
      now = state;
    }
    if (disown()) {
      NcclCalls.barrier();
    }
  }

  boolean isShut() {
    return state >= CLOSED;
  }

  /** Waits until whoever is inside has written down which memory it uses; false if it has not. */
  boolean awaitChecked(Duration timeout) {
    // Others may come in meanwhile, one after the other; they see what is closed.
    long seen = checks.get();
    Waiting.quietly(() -> state != CHECKING || checks.get() != seen, timeout);
    return state != CHECKING || checks.get() != seen;
  }

  /** Whether somebody is inside; of an owner only certain after {@link #disown} and a barrier. */
  boolean isBusy() {
    int now = state;
    Owner known = owner;
    return now == INSIDE || now == CHECKING || now == CLOSING || (known != null && known.isBusy());
  }

  /** Gives native memory back. After {@link #shut}; memory that an owner is inside with stays. */
  void free() {
    long freed = memory;
    Owner known = owner;
    if (freed != 0 && (known == null || !known.isBusy())) {
      owner = null;
      memory = 0;
      NcclCalls.settled(freed);
      NcclCalls.recycleRank(freed);
    }
  }

  private IllegalStateException closed() {
    return new IllegalStateException(rank + " is closed");
  }
}
