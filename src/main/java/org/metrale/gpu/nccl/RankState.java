package org.metrale.gpu.nccl;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntSupplier;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.LongPointer;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;

/**
 * One rank's native communicator: the gate that lets one caller in at a time, what was issued and
 * what is done, and how it ends.
 *
 * <p>Invariants: {@code issued} and the ring are written only behind the gate. {@code completed}
 * only grows and only under {@code pollLock}. Operations of one communicator end in the order in
 * which they were issued, on whatever streams, because NCCL runs them one after the other; so one
 * event that has passed stands for everything before it. {@code failure} is set once.
 */
final class RankState {
  private static final int OPEN = 0;

  /** Somebody is inside and has not written down yet which memory it will use. */
  private static final int CHECKING = 1;

  /** Somebody is inside. */
  private static final int INSIDE = 2;

  private static final int CLOSED = 3;
  private static final VarHandle GATE;
  private static final VarHandle ISSUED;
  private static final int NO_WAIT_NANOS = 20_000;
  private static final Duration CHECK_PATIENCE = Duration.ofMillis(500);

  /** How often one looks again whether operations that the ring has no room for are done. */
  private static final int LOOK_EVERY = 64;

  static {
    try {
      MethodHandles.Lookup lookup = MethodHandles.lookup();
      GATE = lookup.findVarHandle(RankState.class, "gate", int.class);
      ISSUED = lookup.findVarHandle(RankState.class, "issued", long.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  private static final AtomicLong NUMBERS = new AtomicLong();

  /** Orders communicators where several are taken at once. */
  final long number = NUMBERS.incrementAndGet();

  final CudaContext context;
  final NcclConfig config;

  /** Which rank, and how many there are; a child learns both from NCCL. */
  int rank;

  int ranks;
  final FlightRing ring;
  final OperationEvents events;
  final LongPointer cell = NcclCalls.cell();
  final Ending ending = new Ending(this);
  private final long[] fields;
  private final BytePointer networkName;
  private final BytePointer name;
  private final Object pollLock = new Object();
  private final Map<Long, CompletableFuture<Void>> waiting = new TreeMap<>();
  private final long timeoutNanos;
  private final boolean guardedCalls;
  private long handle;
  private boolean ready;
  private volatile int gate;
  private volatile long issued = -1;
  private volatile long completed = -1;

  /** The last operation that NCCL took but is still starting, if later than {@link #issued}. */
  private volatile long taken = -1;

  private volatile NcclException failure;
  private volatile boolean eventsGone;
  private long busyWith = -1;
  private long busySince;

  /** The last locations that were found usable; a cache, so a race is harmless. */
  private Object goodSend;

  private Object goodRecv;

  RankState(CudaContext context, NcclConfig config, int rank, int ranks) {
    this.context = context;
    this.config = config;
    this.rank = rank;
    this.ranks = ranks;
    this.ring = new FlightRing(config.recordedOperations());
    this.events = new OperationEvents(context);
    this.networkName = NcclCalls.text(config.networkName());
    this.name = NcclCalls.text(config.name());
    this.guardedCalls = config.guardedCalls();
    this.timeoutNanos = Backoff.nanos(config.operationTimeout());
    this.fields = config.fields(NcclCalls.version(), networkName.address(), name.address());
  }

  long[] fields() {
    return fields.clone();
  }

  /** NCCL's handle; while it is being made another thread may just be writing it. */
  long handle() {
    long known = handle;
    if (known == 0) {
      known = NcclCalls.read(cell);
      if (ready) {
        handle = known;
      }
    }
    return known;
  }

  /** From now on the handle does not change. */
  void joined() {
    ready = true;
  }

  String detail() {
    return "rank=" + rank + " ranks=" + ranks;
  }

  NcclException failure() {
    return failure;
  }

  long lastIssued() {
    return Math.max(issued, taken);
  }

  long lastCompleted() {
    return completed;
  }

  boolean hasOpenWork() {
    int now = gate;
    return failure == null && (now == INSIDE || now == CHECKING || issued > completed);
  }

  /** Queues one operation; the form that allocates nothing. */
  long submit(
      NcclOperationKind kind,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      NcclDataType type,
      int op,
      int peer,
      CudaStream stream) {
    if (!GATE.compareAndSet(this, OPEN, CHECKING)) {
      enter(CHECKING, config.operationTimeout());
    }
    try {
      // Only now: whoever closes memory from here on waits until the ring says what is used.
      check(send, recv, stream);
      requireHealthy();
      if (NcclWatchdog.parked) {
        NcclWatchdog.wake();
      }
      long sequence = issued + 1;
      makeRoom(sequence);
      long event = events.of(sequence);
      long what = FlightRing.what(kind, type.code(), op);
      ring.write(sequence, what, count, peer, stream.address());
      ring.keep(sequence, send, recv);
      GATE.setRelease(this, INSIDE);
      int code =
          guardedCalls
              ? guarded(what, send, recv, count, peer, stream, event)
              : call(what, send, recv, count, peer, stream, event);
      if (code != NcclCalls.SUCCESS) {
        settle(kind.call(), code, sequence, stream);
      }
      ISSUED.setRelease(this, sequence);
      return sequence;
    } finally {
      GATE.setRelease(this, OPEN);
    }
  }

  private int call(
      long what,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      int peer,
      CudaStream stream,
      long event) {
    return NcclCalls.submit(
        what,
        handle(),
        send == null ? 0 : send.address(),
        recv == null ? 0 : recv.address(),
        count,
        peer,
        stream.slot(),
        stream.generation(),
        event);
  }

  private int guarded(
      long what,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      int peer,
      CudaStream stream,
      long event) {
    return onHelper(
        NcclOperationKind.of((int) what & 0xff).call(),
        () -> call(what, send, recv, count, peer, stream, event),
        config.operationTimeout());
  }

  /** The number of an operation of a group, behind the gate; the caller issues and publishes it. */
  long reserve(
      NcclOperationKind kind, long count, int type, int op, int peer, long stream, long ahead) {
    long sequence = issued + 1 + ahead;
    makeRoom(sequence);
    ring.write(sequence, FlightRing.what(kind, type, op), count, peer, stream);
    return sequence;
  }

  /** Whether NCCL's calls may block inside. */
  boolean isBlocking() {
    return fields[ConfigField.BLOCKING.place()] != 0;
  }

  void publish(long sequence) {
    ISSUED.setRelease(this, sequence);
  }

  /** Takes the gate, waiting for whoever holds it. */
  void enter(Duration timeout) {
    enter(INSIDE, timeout);
  }

  private void enter(int as, Duration timeout) {
    if (GATE.compareAndSet(this, OPEN, as)) {
      return;
    }
    boolean[] in = {false};
    boolean interrupted =
        awaitQuietly(() -> gate == CLOSED || (in[0] = GATE.compareAndSet(this, OPEN, as)), timeout);
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    if (!in[0]) {
      if (gate == CLOSED) {
        throw new IllegalStateException(this + " is closed");
      }
      requireHealthy();
      throw new IllegalStateException(this + " is still busy with another call after " + timeout);
    }
  }

  boolean tryEnter() {
    return GATE.compareAndSet(this, OPEN, INSIDE);
  }

  void leave() {
    GATE.setRelease(this, OPEN);
  }

  void shut() {
    gate = CLOSED;
  }

  boolean isShut() {
    return gate == CLOSED;
  }

  void requireHealthy() {
    NcclException broken = failure;
    if (broken != null) {
      throw broken.again();
    }
  }

  /** Makes sure that the buffers are open and where this communicator's device can reach them. */
  void check(CudaBuffer send, CudaBuffer recv, CudaStream stream) {
    if (stream.context() != context) {
      requireSameDevice(stream);
    }
    if (send != null) {
      send.requireOpen();
      Object place = send.location(context);
      if (place != goodSend) {
        goodSend = Place.require(this, send);
      }
    }
    if (recv != null && recv != send) {
      recv.requireOpen();
      Object place = recv.location(context);
      if (place != goodRecv) {
        goodRecv = Place.require(this, recv);
      }
    }
  }

  /** Keeps in mind what an operation uses that is still open when its entry is needed again. */
  private void makeRoom(long sequence) {
    if (sequence - ring.capacity() > completed) {
      makeRoomSlowly(sequence);
    }
  }

  private void makeRoomSlowly(long sequence) {
    long oldest = sequence - ring.capacity();
    if (oldest == completed + 1 || sequence % LOOK_EVERY == 0) {
      poll();
      requireHealthy();
      ring.forget(completed);
    }
    if (oldest > completed) {
      ring.outlive(oldest);
    }
  }

  /** What still works on a memory that is about to be closed; null if nothing does. */
  String userOf(NativeResource memory) {
    // Within this time the gate's holder has written down what it uses, or is not going to.
    if (awaitQuietly(() -> gate != CHECKING, CHECK_PATIENCE)) {
      Thread.currentThread().interrupt();
    }
    if (gate == CHECKING) {
      return "an operation of " + this + " that is being issued";
    }
    if (ending.hasStopped()) {
      return null;
    }
    poll();
    long sequence = ring.userOf(memory, completed);
    if (sequence < 0) {
      return null;
    }
    String out = "operation " + sequence + " (" + ring.kind(sequence).call() + ") of " + this;
    return failure == null ? out : out + ", which failed but was not stopped: abort or close it";
  }

  private void requireSameDevice(CudaStream stream) {
    if (!stream.context().device().equals(context.device())) {
      throw new IllegalArgumentException(
          stream + " belongs to another device than " + this + " on " + context.device());
    }
  }

  /**
   * What follows an answer that is not plain success: in progress is waited for, everything else is
   * an exception.
   */
  void settle(String call, int code, long sequence, CudaStream stream) {
    if (code == NcclCalls.CLOSED) {
      ring.drop(sequence);
      throw new IllegalStateException(stream + " is closed");
    }
    int end = code;
    if (code == NcclCalls.IN_PROGRESS) {
      // NCCL has taken it: it belongs in the record, but its event is not there to ask yet.
      taken = sequence;
      awaitProgress(call, config.operationTimeout(), detail() + " sequence=" + sequence);
      end = NcclCalls.record(stream.slot(), stream.generation(), events.of(sequence));
    }
    if (end != NcclCalls.SUCCESS) {
      ring.drop(sequence);
      throw refuse(call, end, detail());
    }
  }

  /** The exception for a code; a communicator that cannot go on after it is marked as failed. */
  NcclException refuse(String call, int code, String detail) {
    NcclException out = NcclCalls.failed(call, code, handle(), detail);
    boolean harmless =
        code == NcclResult.INVALID_ARGUMENT.code() || code == NcclResult.INVALID_USAGE.code();
    if (!harmless && code > 0) {
      fail(out);
    }
    return out;
  }

  /** Waits while NCCL works on what was asked for; any end but success is this communicator's. */
  void awaitProgress(String call, Duration timeout, String what) {
    int[] state = {NcclCalls.IN_PROGRESS};
    long begin = System.nanoTime();
    boolean interrupted =
        awaitQuietly(
            () -> {
              if (failure == null) {
                state[0] = (int) NcclCalls.ncclCommGetAsyncError(handle());
              }
              return state[0] != NcclCalls.IN_PROGRESS || failure != null;
            },
            timeout);
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    requireHealthy();
    if (state[0] == NcclCalls.IN_PROGRESS) {
      throw failLate(call, System.nanoTime() - begin, what);
    }
    if (state[0] != NcclCalls.SUCCESS) {
      NcclException problem = NcclCalls.failed(call, state[0], handle(), what);
      fail(problem);
      throw problem;
    }
  }

  /** Waits although the thread may be interrupted: the wait is bounded, and NCCL half way. */
  private static boolean awaitQuietly(java.util.function.BooleanSupplier done, Duration timeout) {
    boolean interrupted = false;
    long end = System.nanoTime() + Backoff.nanos(timeout);
    while (true) {
      try {
        Backoff.await(done, Duration.ofNanos(Math.max(0, end - System.nanoTime())));
        return interrupted;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
  }

  /** Waits until a call on this communicator has made a child, or failed to; how it ended. */
  int awaitChild(RankState child, Duration timeout) {
    int[] code = {NcclCalls.IN_PROGRESS};
    awaitQuietly(
        () -> {
          code[0] = (int) NcclCalls.ncclCommGetAsyncError(handle());
          return child.handle() != 0 || code[0] != NcclCalls.IN_PROGRESS;
        },
        timeout);
    return child.handle() != 0 ? NcclCalls.SUCCESS : code[0];
  }

  /** A child's rank and ranks, which its parent cannot tell. */
  RankState renumbered() {
    int[] three = new int[3];
    int code = NcclCalls.describe(handle(), three);
    if (code != NcclCalls.SUCCESS) {
      throw NcclCalls.failed("ncclCommUserRank", code, handle(), detail());
    }
    ranks = three[0];
    rank = three[1];
    return this;
  }

  void requireNotAborted() {
    if (failure != null && ending.isAborting()) {
      throw new IllegalStateException(
          this + " was aborted: " + failure.getMessage() + "; see NcclConfig.abortOnFailure");
    }
  }

  /**
   * Stops what runs. It fails before NCCL is told, since afterwards its events pass as if it were
   * done. The communicator can still have children, and be closed.
   */
  void revoke(Duration timeout) {
    enter(timeout);
    try {
      requireHealthy();
      poll();
      fail(
          new NcclException(
              "ncclCommRevoke",
              NcclResult.INVALID_USAGE,
              "the communicator was revoked by the program",
              "",
              detail()),
          false);
      ending.revoke(timeout);
    } finally {
      leave();
    }
  }

  /** Marks the communicator as failed because something took too long. */
  NcclException failLate(String call, long nanos, String what) {
    NcclException late =
        new NcclException(
            call,
            NcclResult.TIMEOUT,
            "not done after " + Duration.ofNanos(nanos).toMillis() + " ms",
            NcclCalls.lastError(0),
            what);
    fail(late);
    return late;
  }

  /** The first failure stays; everything open fails with it, and NCCL is told to stop. */
  void fail(NcclException problem) {
    fail(problem, true);
  }

  private void fail(NcclException problem, boolean unexpected) {
    List<CompletableFuture<Void>> open;
    synchronized (waiting) {
      if (failure != null) {
        return;
      }
      failure = problem;
      open = new ArrayList<>(waiting.values());
      waiting.clear();
    }
    if (unexpected) {
      ending.failed(problem);
    }
    for (CompletableFuture<Void> future : open) {
      future.defaultExecutor().execute(() -> future.completeExceptionally(problem));
    }
  }

  /** Runs a call that may wait for peers on a thread of this layer, behind the gate. */
  void manage(String call, IntSupplier nativeCall, Duration timeout) {
    enter(timeout);
    try {
      requireHealthy();
      if (NcclWatchdog.parked) {
        NcclWatchdog.wake();
      }
      long begin = System.nanoTime();
      int code = onHelper(call, nativeCall, timeout);
      if (code == NcclCalls.IN_PROGRESS) {
        long left = Backoff.nanos(timeout) - (System.nanoTime() - begin);
        awaitProgress(call, Duration.ofNanos(Math.max(0, left)), detail());
        code = NcclCalls.SUCCESS;
      }
      if (code != NcclCalls.SUCCESS) {
        throw refuse(call, code, detail());
      }
    } finally {
      leave();
    }
  }

  /** Runs a native call on a thread of this layer; its answer, or an exception if it is late. */
  int onHelper(String call, IntSupplier nativeCall, Duration timeout) {
    CompletableFuture<Integer> answer = new CompletableFuture<>();
    Helpers.run(
        () -> {
          try {
            answer.complete(nativeCall.getAsInt());
          } catch (RuntimeException e) {
            answer.completeExceptionally(e);
          }
        });
    long begin = System.nanoTime();
    if (awaitQuietly(() -> answer.isDone() || failure != null, timeout)) {
      Thread.currentThread().interrupt();
    }
    if (!answer.isDone()) {
      requireHealthy();
      throw failLate(call, System.nanoTime() - begin, detail());
    }
    return Ending.unwrap(answer);
  }

  /** Looks what is done; nobody waits for anybody here. */
  void poll() {
    synchronized (pollLock) {
      long last = issued;
      long first = Math.max(completed + 1, last - events.capacity() + 1);
      if (last < first || eventsGone) {
        return;
      }
      int passed = events.passed(first, (int) (last - first + 1));
      if (failure != null) {
        // Events of operations that were stopped pass too.
        return;
      }
      if (passed > 0) {
        long done = first + passed - 1;
        ring.finish(completed + 1, done, System.nanoTime());
        completed = done;
        finishWaiting(done);
      } else if (passed < 0) {
        NcclOperationKind kind = ring.kind(first);
        fail(NcclCalls.failed(kind.call(), passed, handle(), detail() + " sequence=" + first));
      }
    }
  }

  private void finishWaiting(long done) {
    synchronized (waiting) {
      if (waiting.isEmpty()) {
        // Also on the way of an operation, where an iterator is too much.
        return;
      }
      var all = waiting.entrySet().iterator();
      while (all.hasNext()) {
        var next = all.next();
        if (next.getKey() > done) {
          return;
        }
        all.remove();
        next.getValue().completeAsync(() -> null);
      }
    }
  }

  /** Whether an operation is done; an exception if it never will be. */
  boolean isDone(long sequence) {
    if (completed >= sequence) {
      return true;
    }
    if (failure == null) {
      poll();
      if (completed >= sequence) {
        return true;
      }
    }
    requireHealthy();
    return false;
  }

  CompletableFuture<Void> completion(long sequence) {
    synchronized (waiting) {
      if (completed >= sequence) {
        return CompletableFuture.completedFuture(null);
      }
      if (failure != null) {
        return CompletableFuture.failedFuture(failure);
      }
      return waiting.computeIfAbsent(sequence, key -> new CompletableFuture<>());
    }
  }

  /** The watchdog's look; whether there is anything left to watch. */
  boolean tick(long now) {
    if (failure != null || gate == CLOSED) {
      return false;
    }
    poll();
    long last = issued;
    long done = completed;
    if (done < last && now - ring.issuedNanos(done + 1) > timeoutNanos) {
      NcclOperationKind kind = ring.kind(done + 1);
      late(kind, done + 1, now - ring.issuedNanos(done + 1));
      return false;
    }
    if (tryEnter()) {
      try {
        lookForErrors(last, done);
      } finally {
        leave();
      }
      busyWith = -1;
    } else if (busyWith != last + 1) {
      busyWith = last + 1;
      busySince = now;
    } else if (now - busySince > 2 * timeoutNanos && timeoutNanos < Long.MAX_VALUE / 4) {
      failLate("a call of NCCL that never came back", now - busySince, detail());
    }
    return hasOpenWork();
  }

  private void lookForErrors(long last, long done) {
    if (done >= last || handle() == 0) {
      return;
    }
    long answer = NcclCalls.ncclCommGetAsyncError(handle());
    int state = (int) answer;
    if (answer >> 32 == 0 && state != NcclCalls.SUCCESS && state != NcclCalls.IN_PROGRESS) {
      NcclOperationKind kind = ring.kind(done + 1);
      fail(NcclCalls.failed(kind.call(), state, handle(), detail() + " sequence=" + (done + 1)));
    }
  }

  private void late(NcclOperationKind kind, long sequence, long nanos) {
    fail(
        new NcclException(
            kind.call(),
            NcclResult.TIMEOUT,
            "not done after " + Duration.ofNanos(nanos).toMillis() + " ms",
            NcclCalls.lastError(handle()),
            detail() + " sequence=" + sequence));
  }

  /** The end: nobody gets in any more; frees everything unless NCCL may still write to it. */
  void end() {
    shut();
    if (failure == null || ending.isAborted()) {
      free();
    }
  }

  /** Frees what belongs to Java once NCCL has let go of it. */
  void free() {
    synchronized (pollLock) {
      eventsGone = true;
      events.close();
    }
    networkName.close();
    name.close();
    cell.close();
  }

  /** Lets a moment pass; for loops that wait for another thread of this layer. */
  static void breathe() {
    LockSupport.parkNanos(NO_WAIT_NANOS);
  }

  @Override
  public String toString() {
    String label = config.name().isEmpty() ? "communicator" : "communicator " + config.name();
    return label + " rank " + rank + " of " + ranks;
  }
}
