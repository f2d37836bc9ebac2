package org.metrale.gpu.verbs;

import java.util.Optional;
import org.metrale.gpu.NativeResource;
import org.metrale.verbs.ibv_qp;

/**
 * A queue pair that is connected to a peer: requests can be posted.
 *
 * <p><b>Back-pressure:</b> as many requests are in flight as the queue is deep; {@link #post} takes
 * what fits and leaves the rest in the batch. Places come free when completions are taken off the
 * queue.
 *
 * <p><b>Ownership:</b> a posted request's region cannot be closed before its completion was taken
 * or this is closed.
 *
 * <p><b>Threading:</b> safe for any number of threads; each post is taken as a whole.
 */
public final class VerbsQueuePair extends NativeResource {
  private final VerbsCompletionQueue queue;

  /** Where its receives are; null if it has a queue of its own. */
  private final VerbsSharedReceiveQueue shared;

  private final VerbsRemote remote;
  private final VerbsRoute route;
  private final ibv_qp handle;
  private final long address;
  private final WorkLedgers ledgers;

  /** The send queue's. */
  private final WorkLedger ledger;

  private final int maxInlineBytes;
  private final int number;

  private VerbsQueuePair(VerbsPreparedQueuePair prepared, VerbsRemote remote) {
    super(prepared.needs());
    this.queue = prepared.queue();
    this.shared = prepared.shared();
    this.remote = remote;
    this.route = prepared.route();
    this.handle = prepared.handle();
    this.address = VerbsWorkCalls.address(handle);
    this.ledgers = prepared.ledgers();
    this.ledger = ledgers.sends();
    this.maxInlineBytes = prepared.inlineBytes();
    this.number = VerbsObjectCalls.number(handle);
  }

  /** Takes a queue pair over that was just connected. */
  static VerbsQueuePair takeOver(VerbsPreparedQueuePair prepared, VerbsRemote remote) {
    return new VerbsQueuePair(prepared, remote);
  }

  /**
   * Posts the requests of a batch, as far as there is room for them.
   *
   * @param batch the requests; those that were taken are gone from it
   * @return how many were taken, 0 if the queue is full
   * @throws VerbsException if the device refuses a request for another reason than a full queue;
   *     those before it were taken and are gone from the batch; all of them, if it does not say
   *     which it refused, and it may do them or not: the queue pair is of no more use
   * @throws IllegalArgumentException if a request is longer than a message of this port may be, or
   *     has more bytes inline than {@link #maxInlineBytes()}; nothing was taken
   * @throws IllegalStateException if this or a region is closed; nothing was taken
   * @wraps {@code ibv_post_send}; verbs.h
   */
  public int post(VerbsWorkBatch batch) {
    if (batch.longestBytes() > route.maxMessageBytes()) {
      throw new IllegalArgumentException(
          "a request of " + batch.longestBytes() + " bytes; " + maxMessageText());
    }
    if (batch.longestInlineBytes() > maxInlineBytes) {
      throw new IllegalArgumentException(
          batch.longestInlineBytes() + " bytes inline; this queue pair takes " + maxInlineBytes);
    }
    return open(ledger.post(address, batch));
  }

  /**
   * Posts receive requests, as far as there is room for them.
   *
   * <p>They are used in this order. While none is there, what the peer sends is refused and tried
   * again, see {@link VerbsPath#rnrRetryCount()}.
   *
   * @param batch the requests; those that were taken are gone from it
   * @return how many were taken, 0 if the queue is full
   * @throws VerbsException as {@link #post(VerbsWorkBatch)}
   * @throws IllegalArgumentException if the queue pair was made without receives, or they are those
   *     of a shared receive queue
   * @throws IllegalStateException if this or a region is closed; nothing was taken
   * @wraps {@code ibv_post_recv}; verbs.h
   */
  public int post(VerbsReceiveBatch batch) {
    return open(ledgers.post(address, batch));
  }

  private int open(int taken) {
    if (taken == WorkLedger.ENDED) {
      throw new IllegalStateException(this + " is closed");
    }
    return taken;
  }

  private String maxMessageText() {
    return "a message of this port has at most " + route.maxMessageBytes();
  }

  /**
   * How many requests are in flight: posted, and their completion not yet taken.
   *
   * @return 0 to {@link #depth()}
   */
  public int inFlight() {
    return ledger.inFlight();
  }

  /**
   * How many requests may be in flight.
   *
   * @return as granted by the device
   */
  public int depth() {
    return ledger.depth();
  }

  /**
   * How many receive requests are in flight: posted, and their completion not yet taken. The peer
   * may send as much as that; telling it so is the caller's protocol.
   *
   * @return 0 to {@link #receiveDepth()}
   */
  public int receivesInFlight() {
    return ledgers.receives().inFlight();
  }

  /**
   * How many receive requests may be in flight.
   *
   * @return as granted by the device; 0 if it was made without, or they are those of a shared
   *     receive queue
   */
  public int receiveDepth() {
    return ledgers.receives().depth();
  }

  /**
   * Where its receive requests are, if it has no queue for them of its own.
   *
   * @return the shared receive queue, open as long as this is
   */
  public Optional<VerbsSharedReceiveQueue> sharedReceiveQueue() {
    return Optional.ofNullable(shared);
  }

  /**
   * How many bytes a request may have inline.
   *
   * @return as granted by the device, at most what was asked for or a little more; 0 if none
   */
  public int maxInlineBytes() {
    return maxInlineBytes;
  }

  /**
   * The queue pair's number.
   *
   * @return 24 bits
   */
  public int number() {
    return number;
  }

  /**
   * The other end.
   *
   * @return what it was connected to
   */
  public VerbsRemote remote() {
    return remote;
  }

  /**
   * The longest request.
   *
   * @return bytes
   */
  public long maxMessageBytes() {
    return route.maxMessageBytes();
  }

  /**
   * The first request that really failed, of either queue, rather than being flushed after it.
   *
   * @return the failure, or empty if there is none
   */
  public Optional<VerbsWorkException> firstError() {
    return Optional.ofNullable(ledgers.firstError());
  }

  /**
   * Gives up what is in flight: the queue pair goes to the error state, and its requests of both
   * kinds complete as flushed. Those of a shared receive queue stay there for others, but for one
   * that this has begun with. There is no way back; close it.
   *
   * @throws VerbsException if the device refuses
   * @throws IllegalStateException if this is closed
   * @wraps {@code ibv_modify_qp}; verbs.h
   */
  public void abort() {
    boolean unused =
        queue
            .device()
            .within(
                "ibv_modify_qp",
                () ->
                    using(
                        () -> {
                          VerbsObjectCalls.abort(handle);
                          return true;
                        }),
                done -> {});
  }

  @Override
  protected void closeOwn() {
    if (!ledgers.awaitIdle()) {
      throw new IllegalStateException(this + " has a call running");
    }
  }

  /**
   * Destroys the queue pair; then nothing of it is in flight, and its regions are let go. If the
   * device refuses, it may go on with what is in flight: those regions can never be closed.
   */
  @Override
  protected void free() {
    ledgers.close(this, handle, queue, keepNeeds());
  }

  @Override
  public String toString() {
    return "queue pair " + number + " of " + queue.device() + " to " + remote;
  }
}
