package org.metrale.gpu.verbs;

import com.google.errorprone.annotations.MustBeClosed;
import java.util.function.Function;
import org.metrale.gpu.NativeResource;
import org.metrale.verbs.ibv_pd;
import org.metrale.verbs.ibv_srq;

/**
 * A receive queue of any number of queue pairs: each takes the oldest request from it when its peer
 * sends something, so that many peers that send little need room for few messages.
 *
 * <p>Completions come in the completion queue of the queue pair that used a request, which they
 * name, and in the order in which messages end. While no request is there, what a peer sends is
 * refused and tried again, see {@link VerbsPath#rnrRetryCount()}.
 *
 * <p><b>Failures:</b> a queue pair that fails leaves the requests here to the others, and completes
 * as flushed only one that it had begun with. Those that it has used are known by their
 * completions, which can still be taken when it is closed, but for what comes just then: to lose
 * none, end it with {@link VerbsQueuePair#abort()}, wait for {@link
 * VerbsEventType#QUEUE_PAIR_LAST_RECEIVE_REACHED} (which Soft-RoCE of Linux 6.1 does not tell), and
 * close it then. A request whose completion is gone with its queue pair counts as in flight until
 * this is closed.
 *
 * <p><b>Back-pressure:</b> as many requests are in flight as the queue is deep; {@link #post} takes
 * what fits and leaves the rest in the batch. Places come free when completions are taken off the
 * completion queues.
 *
 * <p><b>Ownership:</b> a posted request's region cannot be closed before its completion was taken
 * or this is closed; this cannot be closed while a queue pair uses it.
 *
 * <p><b>Threading:</b> safe for any number of threads; each post is taken as a whole.
 */
public final class VerbsSharedReceiveQueue extends NativeResource {
  private static final int MOST_REQUESTS = 1 << 16;

  private final VerbsProtectionDomain domain;
  private final ibv_srq handle;
  private final long address;
  private final SharedLedger ledger;

  private VerbsSharedReceiveQueue(
      VerbsProtectionDomain domain, ibv_srq handle, SharedLedger ledger) {
    super(domain);
    this.domain = domain;
    this.handle = handle;
    this.address = VerbsWorkCalls.address(handle);
    this.ledger = ledger;
  }

  /**
   * Makes a shared receive queue.
   *
   * @param domain the protection domain, that of the queue pairs and of the memory; stays open
   *     until the queue is closed
   * @param depth how many requests may be in flight, 1 to 65536; less where the device has less
   * @return the queue
   * @throws VerbsException if the device refuses, for example because it has no more
   * @throws IllegalArgumentException if the depth is not from 1 to 65536
   * @throws IllegalStateException if the device has no shared receive queues, or is closed
   * @wraps {@code ibv_create_srq}; verbs.h
   */
  @MustBeClosed
  public static VerbsSharedReceiveQueue open(VerbsProtectionDomain domain, int depth) {
    if (depth < 1 || depth > MOST_REQUESTS) {
      throw new IllegalArgumentException("depth: wanted 1 to " + MOST_REQUESTS + ", got " + depth);
    }
    VerbsDevice device = domain.device();
    VerbsLimits limits = device.limits();
    if (limits.sharedReceiveQueues() == 0 || limits.sharedReceives() == 0) {
      throw new IllegalStateException(device + " has no shared receive queues");
    }
    int granted = Math.min(depth, limits.sharedReceives());
    return device.within(
        "ibv_create_srq",
        () -> domain.with(pd -> make(domain, pd, granted)),
        VerbsSharedReceiveQueue::close);
  }

  private static VerbsSharedReceiveQueue make(VerbsProtectionDomain domain, ibv_pd pd, int depth) {
    SharedLedger ledger = SharedLedger.open(depth);
    try {
      ibv_srq handle = VerbsObjectCalls.createSharedReceiveQueue(pd, ledger.number(), depth);
      try {
        return new VerbsSharedReceiveQueue(domain, handle, ledger);
      } catch (RuntimeException | Error e) {
        VerbsObjectCalls.destroySharedReceiveQueue(handle);
        throw e;
      }
    } catch (RuntimeException | Error e) {
      ledger.abandon();
      throw e;
    }
  }

  /**
   * The protection domain.
   *
   * @return the domain, open as long as this is
   */
  public VerbsProtectionDomain domain() {
    return domain;
  }

  /**
   * What events call it.
   *
   * @return from 1, no other open shared receive queue's of this process
   */
  public int number() {
    return ledger.number();
  }

  /**
   * Posts receive requests, as far as there is room for them.
   *
   * @param batch the requests; those that were taken are gone from it
   * @return how many were taken, 0 if the queue is full
   * @throws VerbsException if the device refuses a request for another reason than a full queue;
   *     those before it were taken and are gone from the batch; all of them, if it does not say
   *     which it refused, and it may use them or not
   * @throws IllegalStateException if this or a region is closed; nothing was taken
   * @wraps {@code ibv_post_srq_recv}; verbs.h
   */
  public int post(VerbsReceiveBatch batch) {
    int taken = ledger.post(address, batch);
    if (taken == WorkLedger.ENDED) {
      throw new IllegalStateException(this + " is closed");
    }
    return taken;
  }

  /**
   * How many receive requests are in flight: posted, and their completion not yet taken.
   *
   * @return 0 to {@link #depth()}
   */
  public int inFlight() {
    return ledger.inFlight();
  }

  /**
   * How many receive requests may be in flight.
   *
   * @return as granted by the device
   */
  public int depth() {
    return ledger.depth();
  }

  /**
   * Asks for {@link VerbsEventType#SHARED_RECEIVE_QUEUE_LIMIT_REACHED}, once: when a queue pair
   * takes a request and fewer than so many are left here. A {@link VerbsEventListener} is told, and
   * may post more and ask again.
   *
   * @param requests below how many, at most {@link #depth()}; 0 for not any more
   * @throws VerbsException if the device refuses
   * @throws IllegalArgumentException if it is below 0 or above the depth
   * @throws IllegalStateException if this is closed
   * @wraps {@code ibv_modify_srq}; verbs.h
   */
  public void armLimit(int requests) {
    if (requests < 0 || requests > depth()) {
      throw new IllegalArgumentException(
          "requests: wanted 0 to " + depth() + ", got " + requests + " for " + this);
    }
    boolean unused =
        within(
            "ibv_modify_srq",
            queue -> {
              VerbsObjectCalls.limit(queue, requests);
              return true;
            });
  }

  /**
   * The limit that waits to be reached, as the device has it.
   *
   * @return 0 if none was asked for since it was reached last
   * @throws VerbsException if the device does not answer
   * @throws IllegalStateException if this is closed
   * @wraps {@code ibv_query_srq}; verbs.h
   */
  public int limit() {
    return within("ibv_query_srq", VerbsObjectCalls::limit);
  }

  private <T> T within(String call, Function<ibv_srq, T> work) {
    return domain.device().within(call, () -> with(work), answer -> {});
  }

  /** Runs a call with the handle while this cannot be closed. */
  <T> T with(Function<ibv_srq, T> call) {
    return using(() -> call.apply(handle));
  }

  SharedLedger ledger() {
    return ledger;
  }

  @Override
  protected void closeOwn() {
    if (!ledger.awaitIdle()) {
      throw new IllegalStateException(this + " has a call running");
    }
  }

  /**
   * Destroys the queue; then nothing of it is in flight, and its regions are let go. If the device
   * refuses, it may go on with what is in flight: those regions can never be closed.
   */
  @Override
  protected void free() {
    Runnable letGo = keepNeeds();
    if (!ledger.end()) {
      // What it stands on is kept for that call.
      throw new IllegalStateException(this + " is left as it is: a call does not end");
    }
    domain.device().end("ibv_destroy_srq", 0, this::destroy, letGo);
  }

  private void destroy() {
    try {
      VerbsObjectCalls.destroySharedReceiveQueue(handle);
      ledger.abandon();
    } finally {
      ledger.leaveQueues();
    }
  }

  @Override
  public String toString() {
    return "shared receive queue " + number() + " of " + domain.device();
  }
}
