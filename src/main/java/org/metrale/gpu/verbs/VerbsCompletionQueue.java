package org.metrale.gpu.verbs;

import com.google.errorprone.annotations.MustBeClosed;
import java.nio.channels.AsynchronousCloseException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.spi.AbstractInterruptibleChannel;
import java.time.Duration;
import java.util.function.Function;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.NativeResource;
import org.metrale.verbs.ibv_comp_channel;
import org.metrale.verbs.ibv_context;
import org.metrale.verbs.ibv_cq;

/**
 * Where finished requests of any number of queue pairs are found.
 *
 * <p>It cannot overrun: queue pairs are refused whose requests it has no room for. A shared receive
 * queue takes the room of all its requests here, once and until it is closed, or its last queue
 * pair here, if none of them was to be connected.
 *
 * <p><b>Threading:</b> safe for any number of threads; each completion is given to one of them.
 */
public final class VerbsCompletionQueue extends NativeResource {
  private static final long CALL_NANOS = 1_000_000_000;

  /** So many polls without a look at the clock. */
  private static final int SPINS_TO_A_LOOK = 32;

  private final VerbsDevice device;
  private final ibv_comp_channel channel;
  private final ibv_cq handle;
  private final long address;
  private final int entries;

  /** Guards what follows, and keeps completions in order. */
  private final CallLock lock = new CallLock();

  private final LedgerTable ledgers;

  /** What comes before all that is polled; null for nothing. */
  private KeptCompletions kept;

  /** Guards who waits. */
  private final Object waitingLock = new Object();

  /** The thread that waits for an event, if one does. */
  private Waiting waiting;

  private VerbsCompletionQueue(VerbsDevice device, ibv_comp_channel channel, ibv_cq handle) {
    super(device);
    this.device = device;
    this.channel = channel;
    this.handle = handle;
    this.address = VerbsWorkCalls.address(handle);
    this.entries = VerbsObjectCalls.entries(handle);
    this.ledgers = new LedgerTable(this, entries);
  }

  /**
   * Makes a completion queue that can be polled and waited for.
   *
   * @param device the device; stays open until the queue is closed
   * @param entries how many completions must fit, from 1
   * @return the queue
   * @throws VerbsException if the device refuses, for example because it has no queue of that
   *     length
   * @wraps {@code ibv_create_comp_channel}, {@code ibv_create_cq}; verbs.h
   */
  @MustBeClosed
  public static VerbsCompletionQueue open(VerbsDevice device, int entries) {
    return device.within(
        "ibv_create_cq",
        () -> device.with(context -> make(device, context, entries)),
        VerbsCompletionQueue::close);
  }

  private static VerbsCompletionQueue make(VerbsDevice device, ibv_context context, int entries) {
    ibv_comp_channel channel = VerbsObjectCalls.createChannel(context);
    try {
      ibv_cq handle = VerbsObjectCalls.createCompletionQueue(context, entries, channel);
      try {
        return new VerbsCompletionQueue(device, channel, handle);
      } catch (RuntimeException | Error e) {
        VerbsObjectCalls.destroyCompletionQueue(handle);
        throw e;
      }
    } catch (RuntimeException | Error e) {
      VerbsObjectCalls.destroyChannel(channel);
      throw e;
    }
  }

  /**
   * The device that it belongs to.
   *
   * @return the device, open as long as this is
   */
  public VerbsDevice device() {
    return device;
  }

  /**
   * How many completions fit.
   *
   * @return as granted by the device
   */
  public int entries() {
    return entries;
  }

  /**
   * Takes what is there, without waiting.
   *
   * @param into where to put it; what was there is forgotten
   * @return how many completions there were, 0 if none
   * @throws VerbsException if the queue is broken, for example because the device is gone
   * @throws IllegalStateException if this is closed, or a completion came twice, out of turn or for
   *     a request that was never posted; what the call has taken is lost then, and the queue pair
   *     that the message names has to be closed
   * @wraps {@code ibv_poll_cq}; verbs.h
   */
  public int pollOnce(VerbsCompletions into) {
    enter();
    try {
      into.filled(0);
      if (kept != null) {
        int count = takeKept(into);
        if (count > 0) {
          return count;
        }
      }
      long found = VerbsWorkCalls.poll(address, into.address(), into.capacity(), WorkLedger.STEP);
      int count = (int) found;
      if (count <= 0) {
        return VerbsCalls.check("ibv_poll_cq", count, "");
      }
      into.filled(count, (int) (found >>> 32));
      return ledgers.distribute(into, count);
    } finally {
      lock.leave();
    }
  }

  /**
   * Polls until something is there; keeps the processor busy meanwhile.
   *
   * <p><b>Blocking:</b> until the deadline at the latest; interruptible.
   *
   * @param into where to put it
   * @param timeout how long to poll
   * @return how many completions there were, 0 if the time is over
   * @throws InterruptedException if the thread is or was interrupted
   * @throws VerbsException if the queue is broken
   */
  public int poll(VerbsCompletions into, Duration timeout) throws InterruptedException {
    long limit = Backoff.nanos(timeout);
    long deadline = 0;
    // What comes soon is not kept waiting for the clock, which may cost more than a poll.
    for (long spins = 1; ; spins++) {
      int count = pollOnce(into);
      if (count > 0) {
        return count;
      }
      if (Thread.interrupted()) {
        throw new InterruptedException();
      }
      if (spins % SPINS_TO_A_LOOK == 0) {
        long now = System.nanoTime();
        deadline = spins == SPINS_TO_A_LOOK ? now + limit : deadline;
        if (now - deadline >= 0) {
          return 0;
        }
      }
      Thread.onSpinWait();
    }
  }

  /**
   * Waits until something is there, without using a processor.
   *
   * <p><b>Blocking:</b> until the deadline at the latest; interruptible, and ended by {@link
   * #wakeup()}. A virtual thread keeps its carrier meanwhile. One thread at a time.
   *
   * @param into where to put it
   * @param timeout how long to wait
   * @return how many completions there were, 0 if the time is over or another thread woke this one
   * @throws InterruptedException if the thread is or was interrupted
   * @throws VerbsException if the queue is broken
   * @throws IllegalStateException if this is closed, or another thread waits
   * @wraps {@code ibv_req_notify_cq}, {@code ibv_get_cq_event}, {@code ibv_ack_cq_events}; verbs.h
   */
  public int await(VerbsCompletions into, Duration timeout) throws InterruptedException {
    long deadline = System.nanoTime() + Backoff.nanos(timeout);
    acquire();
    try {
      int count = pollOnce(into);
      if (count > 0) {
        return count;
      }
      Waiting mine = begin();
      try {
        return mine.run(into, deadline);
      } finally {
        end(mine);
      }
    } finally {
      release();
    }
  }

  /** Ends the {@link #await} that is going on, if one is. */
  public void wakeup() {
    synchronized (waitingLock) {
      if (waiting != null) {
        VerbsWorkCalls.wake(waiting.wake);
      }
    }
  }

  private Waiting begin() {
    synchronized (waitingLock) {
      if (waiting != null) {
        throw new IllegalStateException("another thread waits for " + this);
      }
      waiting = new Waiting(VerbsWorkCalls.createWake());
      return waiting;
    }
  }

  private void end(Waiting mine) {
    synchronized (waitingLock) {
      waiting = null;
      VerbsWorkCalls.closeWake(mine.wake);
    }
  }

  /** Runs a call with the handle while this cannot be closed. */
  <T> T with(Function<ibv_cq, T> call) {
    return using(() -> call.apply(handle));
  }

  private void enter() {
    if (!lock.enter()) {
      throw new IllegalStateException(this + " is closed");
    }
  }

  /** Takes a queue pair's queues in: from now on their completions are understood. */
  void add(WorkLedgers both) {
    enter();
    try {
      ledgers.add(both);
    } finally {
      lock.leave();
    }
  }

  /** Forgets a queue pair's queues; their left-over completions are passed over. */
  void remove(WorkLedgers both) {
    enter();
    try {
      ledgers.remove(both);
    } finally {
      lock.leave();
    }
  }

  /**
   * Takes what is there now to be given out later: a queue pair takes its completions along when it
   * is destroyed, but those of shared requests are not its own.
   */
  void keep() {
    enter();
    try {
      kept = kept == null ? new KeptCompletions() : kept;
      kept.takeAll(address, ledgers.turns());
    } finally {
      lock.leave();
    }
  }

  /** The oldest of those that fit; 0 if none of what was kept is left or is anybody's. */
  private int takeKept(VerbsCompletions into) {
    while (!kept.isEmpty()) {
      kept.moveTo(into);
      int count = ledgers.distribute(into, into.size());
      if (count > 0) {
        return count;
      }
    }
    kept = null;
    return 0;
  }

  /** Forgets a shared receive queue, if this is open. */
  void forget(SharedLedger shared) {
    if (lock.enter()) {
      try {
        ledgers.remove(shared);
      } finally {
        lock.leave();
      }
    }
  }

  @Override
  protected void closeOwn() {
    if (!lock.awaitFree(CALL_NANOS)) {
      throw new IllegalStateException(this + " has a call running");
    }
  }

  @Override
  protected void free() {
    Runnable letGo = keepNeeds();
    if (!lock.close(CALL_NANOS)) {
      // The device is kept open for that call.
      throw new IllegalStateException(this + " is left as it is: a call does not end");
    }
    ledgers.close();
    device.end("ibv_destroy_cq", 0, this::destroy, letGo);
  }

  private void destroy() {
    try {
      VerbsObjectCalls.destroyCompletionQueue(handle);
    } finally {
      VerbsObjectCalls.destroyChannel(channel);
    }
  }

  @Override
  public String toString() {
    return "completion queue of " + device;
  }

  /** One thread's wait; interrupting the thread closes this, which uses its wake descriptor. */
  private final class Waiting extends AbstractInterruptibleChannel {
    private final int wake;

    Waiting(int wake) {
      this.wake = wake;
    }

    int run(VerbsCompletions into, long deadline) throws InterruptedException {
      int channelDescriptor = VerbsObjectCalls.descriptor(channel);
      boolean woken = false;
      while (true) {
        VerbsWorkCalls.arm(address);
        int count = pollOnce(into);
        long left = deadline - System.nanoTime();
        if (count > 0 || woken || left <= 0) {
          return count;
        }
        int millis = (int) Math.min(Integer.MAX_VALUE, 1 + left / 1_000_000);
        begin();
        try {
          woken = VerbsWorkCalls.waitReadable(channelDescriptor, wake, millis);
        } finally {
          ended();
        }
        VerbsWorkCalls.drainEvents(channel, handle);
      }
    }

    private void ended() throws InterruptedException {
      try {
        end(true);
      } catch (ClosedByInterruptException e) {
        Thread.interrupted();
        throw new InterruptedException();
      } catch (AsynchronousCloseException e) {
        throw new IllegalStateException(e);
      }
    }

    @Override
    protected void implCloseChannel() {
      VerbsWorkCalls.wake(wake);
    }
  }
}
