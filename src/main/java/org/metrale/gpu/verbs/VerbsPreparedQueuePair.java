package org.metrale.gpu.verbs;

import com.google.errorprone.annotations.MustBeClosed;
import java.lang.System.Logger.Level;
import org.metrale.gpu.NativeResource;
import org.metrale.verbs.ibv_cq;
import org.metrale.verbs.ibv_pd;
import org.metrale.verbs.ibv_qp;
import org.metrale.verbs.ibv_srq;

/**
 * A queue pair that has no peer yet: it can tell its number and its address, and be connected once.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class VerbsPreparedQueuePair extends NativeResource {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.verbs");

  private final VerbsProtectionDomain domain;
  private final VerbsCompletionQueue queue;

  /** Where its receives are; null if it has a queue of its own. */
  private final VerbsSharedReceiveQueue shared;

  private final VerbsQueueSettings settings;
  private final VerbsRoute route;
  private final ibv_qp handle;
  private final int inlineBytes;
  private final WorkLedgers ledgers;
  private final int number;

  /** Whether a call to connect it has begun and not returned. */
  private volatile boolean connecting;

  private volatile boolean connected;

  private VerbsPreparedQueuePair(
      VerbsProtectionDomain domain,
      VerbsCompletionQueue queue,
      VerbsSharedReceiveQueue shared,
      VerbsQueueSettings settings,
      VerbsRoute route,
      VerbsObjectCalls.MadeQueuePair made,
      WorkLedgers ledgers) {
    super(needs(domain, queue, shared));
    this.domain = domain;
    this.queue = queue;
    this.shared = shared;
    this.settings = settings;
    this.route = route;
    this.handle = made.handle();
    this.inlineBytes = made.inlineBytes();
    this.ledgers = ledgers;
    this.number = VerbsObjectCalls.number(handle);
    ledgers.pairNumber(number);
  }

  /**
   * Makes a queue pair and chooses its address; everything but the peer is decided here.
   *
   * @param domain the protection domain; stays open until the queue pair is closed
   * @param queue where its completions go; stays open likewise
   * @param settings depths, rights and path; cut down to what the device can
   * @param packetNumber the first packet number that this side sends with, 24 bits; not to be
   *     guessed
   * @return the queue pair
   * @throws VerbsException if the device refuses
   * @throws IllegalArgumentException if the packet number has more than 24 bits, or the two belong
   *     to different devices
   * @throws IllegalStateException if the port has no such address, or the completion queue has no
   *     room
   * @wraps {@code ibv_create_qp}, {@code ibv_modify_qp}; verbs.h
   */
  @MustBeClosed
  public static VerbsPreparedQueuePair open(
      VerbsProtectionDomain domain,
      VerbsCompletionQueue queue,
      VerbsQueueSettings settings,
      int packetNumber) {
    return make(domain, queue, null, settings, packetNumber);
  }

  /**
   * Makes a queue pair that takes its receive requests from a shared receive queue.
   *
   * @param queue where its completions go, also those of the shared requests that it uses; stays
   *     open until the queue pair is closed
   * @param shared where its receives are, in the protection domain that is the queue pair's too;
   *     stays open likewise
   * @param settings depths, rights and path, without receives; cut down to what the device can
   * @param packetNumber the first packet number that this side sends with, 24 bits; not to be
   *     guessed
   * @return the queue pair
   * @throws VerbsException if the device refuses
   * @throws IllegalArgumentException if the settings have receives, the packet number has more than
   *     24 bits, or the two belong to different devices
   * @throws IllegalStateException if the port has no such address, the shared receive queue is
   *     closed, or the completion queue has no room
   * @wraps {@code ibv_create_qp}, {@code ibv_modify_qp}; verbs.h
   */
  @MustBeClosed
  public static VerbsPreparedQueuePair open(
      VerbsCompletionQueue queue,
      VerbsSharedReceiveQueue shared,
      VerbsQueueSettings settings,
      int packetNumber) {
    if (settings.receiveDepth() != 0) {
      throw new IllegalArgumentException(
          "receiveDepth: wanted 0 with " + shared + ", got " + settings.receiveDepth());
    }
    return shared.with(unused -> make(shared.domain(), queue, shared, settings, packetNumber));
  }

  private static VerbsPreparedQueuePair make(
      VerbsProtectionDomain domain,
      VerbsCompletionQueue queue,
      VerbsSharedReceiveQueue shared,
      VerbsQueueSettings settings,
      int packetNumber) {
    if (packetNumber >>> 24 != 0 || !domain.device().equals(queue.device())) {
      throw new IllegalArgumentException(
          "packet number " + packetNumber + ", " + domain + ", " + queue);
    }
    VerbsRoute route = VerbsRoute.of(domain.device(), settings.path(), packetNumber);
    VerbsQueueSettings granted = settings.within(domain.device().limits().workRequests());
    WorkLedgers ledgers =
        new WorkLedgers(
            granted.sendDepth(), granted.receiveDepth(), shared == null ? null : shared.ledger());
    queue.add(ledgers);
    try {
      return domain
          .device()
          .within(
              "ibv_create_qp",
              () ->
                  withHandles(
                      domain,
                      queue,
                      shared,
                      (pd, cq, srq) -> {
                        VerbsObjectCalls.MadeQueuePair made =
                            VerbsObjectCalls.createQueuePair(pd, cq, srq, granted);
                        try {
                          return new VerbsPreparedQueuePair(
                              domain, queue, shared, granted, route, made, ledgers);
                        } catch (RuntimeException | Error e) {
                          VerbsObjectCalls.destroyQueuePair(made.handle());
                          throw e;
                        }
                      }),
              VerbsPreparedQueuePair::close);
    } catch (RuntimeException | Error e) {
      queue.remove(ledgers);
      throw e;
    }
  }

  private interface Creation {
    VerbsPreparedQueuePair with(ibv_pd domain, ibv_cq queue, ibv_srq shared);
  }

  /** Makes a queue pair while what it stands on cannot be closed. */
  private static VerbsPreparedQueuePair withHandles(
      VerbsProtectionDomain domain,
      VerbsCompletionQueue queue,
      VerbsSharedReceiveQueue shared,
      Creation creation) {
    return domain.with(
        pd ->
            queue.with(
                cq ->
                    shared == null
                        ? creation.with(pd, cq, null)
                        : shared.with(srq -> creation.with(pd, cq, srq))));
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
   * The first packet number that this side sends with.
   *
   * @return 24 bits
   */
  public int packetNumber() {
    return route.packetNumber();
  }

  /**
   * The address that the peer is to be told.
   *
   * @return the entry of the GID table
   */
  public VerbsGidEntry gid() {
    return route.gid();
  }

  /**
   * Why that address.
   *
   * @return a reason in words
   */
  public String gidReason() {
    return route.reason();
  }

  /**
   * The port's local identifier, for peers on InfiniBand.
   *
   * @return 0 with RoCE
   */
  public int lid() {
    return route.lid();
  }

  /**
   * The largest packet's payload; both ends must come to the same number.
   *
   * @return bytes
   */
  public int mtuBytes() {
    return route.mtuBytes();
  }

  /**
   * Posts receive requests, so that there is room for what the peer sends as soon as it is
   * connected. The connected queue pair has them then.
   *
   * @param batch the requests; those that were taken are gone from it
   * @return how many were taken, 0 if the queue is full
   * @throws VerbsException as {@link VerbsQueuePair#post(VerbsReceiveBatch)}
   * @throws IllegalArgumentException if the queue pair was made without receives, or they are those
   *     of a shared receive queue
   * @throws IllegalStateException if this or a region is closed; nothing was taken
   * @wraps {@code ibv_post_recv}; verbs.h
   */
  public int post(VerbsReceiveBatch batch) {
    return using(() -> ledgers.post(VerbsWorkCalls.address(handle), batch));
  }

  /**
   * Connects it to its peer. This object is closed then, and the connected one takes its place;
   * where a call of another thread does not end on this one, closing it is left to the caller.
   *
   * <p><b>Blocking:</b> perhaps for seconds, while the peer's address is looked up.
   *
   * @param remote the queue pair at the other end
   * @return the connected queue pair
   * @throws VerbsException if it cannot; this object is still open then, to be closed. The message
   *     has the peer's address, the own one and why it was chosen. A call that has not returned in
   *     time has to return before this can be closed
   * @throws IllegalArgumentException if the peer has no address that this port can reach
   * @throws IllegalStateException if this is closed or connected
   * @wraps {@code ibv_modify_qp}; verbs.h
   */
  @MustBeClosed
  public synchronized VerbsQueuePair connect(VerbsRemote remote) {
    if (route.isRoce() && remote.gid().isZero()) {
      throw new IllegalArgumentException("with RoCE a peer needs a GID: " + remote);
    }
    if (connected || connecting) {
      throw new IllegalStateException(this + " has been connected, or is just being");
    }
    connecting = true;
    VerbsQueuePair out =
        queue
            .device()
            .within(
                queue.device().callTimeout(),
                "ibv_modify_qp",
                () -> using(() -> connectNow(remote)),
                () -> connecting = false,
                VerbsQueuePair::close);
    try {
      close();
    } catch (IllegalStateException running) {
      LOG.log(Level.DEBUG, "still open, though it is connected", running);
    }
    return out;
  }

  private VerbsQueuePair connectNow(VerbsRemote remote) {
    ledgers.mayReceive();
    VerbsObjectCalls.connect(handle, settings.path(), route, remote);
    VerbsQueuePair out = VerbsQueuePair.takeOver(this, remote);
    connected = true;
    return out;
  }

  VerbsCompletionQueue queue() {
    return queue;
  }

  VerbsSharedReceiveQueue shared() {
    return shared;
  }

  VerbsRoute route() {
    return route;
  }

  ibv_qp handle() {
    return handle;
  }

  int inlineBytes() {
    return inlineBytes;
  }

  WorkLedgers ledgers() {
    return ledgers;
  }

  /** What a queue pair stands on. */
  NativeResource[] needs() {
    return needs(domain, queue, shared);
  }

  private static NativeResource[] needs(
      VerbsProtectionDomain domain, VerbsCompletionQueue queue, VerbsSharedReceiveQueue shared) {
    return shared == null
        ? new NativeResource[] {domain, queue}
        : new NativeResource[] {domain, queue, shared};
  }

  @Override
  protected void closeOwn() {
    if (!connected && !ledgers.awaitIdle()) {
      throw new IllegalStateException(this + " has a call running");
    }
  }

  @Override
  protected void free() {
    if (!connected) {
      ledgers.close(this, handle, queue, keepNeeds());
    }
  }

  @Override
  public String toString() {
    return "prepared queue pair of " + queue.device();
  }
}
