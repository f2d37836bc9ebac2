package org.metrale.gpu.rail;

import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.verbs.VerbsCompletionQueue;
import org.metrale.gpu.verbs.VerbsDevice;
import org.metrale.gpu.verbs.VerbsGid;
import org.metrale.gpu.verbs.VerbsLimits;
import org.metrale.gpu.verbs.VerbsPath;
import org.metrale.gpu.verbs.VerbsPreparedQueuePair;
import org.metrale.gpu.verbs.VerbsQueuePair;
import org.metrale.gpu.verbs.VerbsQueueSettings;
import org.metrale.gpu.verbs.VerbsRemote;
import org.metrale.gpu.wire.Gid;

/** This side's end of one rail of one connection: a completion queue and a queue pair. */
final class RailEnd {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");

  private final RailSet rails;
  private final VerbsCompletionQueue completions;
  private final VerbsPreparedQueuePair prepared;
  private final int wantedDepth;
  private final VerbsPath path;
  private final LocalQueuePair local;
  private final boolean doubtful;
  private volatile VerbsQueuePair pair;

  /** Whether what was left of it is being seen to. */
  private final AtomicBoolean isLeft = new AtomicBoolean();

  /** Whether it keeps its rails open. */
  private final AtomicBoolean isPinning = new AtomicBoolean(true);

  private final CompletableFuture<Boolean> ended = new CompletableFuture<>();

  private RailEnd(
      RailSet rails,
      VerbsCompletionQueue completions,
      VerbsPreparedQueuePair prepared,
      RailSpec spec,
      boolean doubtful) {
    this.rails = rails;
    this.completions = completions;
    this.prepared = prepared;
    this.doubtful = doubtful;
    this.wantedDepth = spec.depth();
    this.path = spec.path();
    this.local =
        new LocalQueuePair(
            prepared.number(), prepared.packetNumber(), Gid.of(prepared.gid().gid().bytes()));
  }

  /** A client's end: everything that can be done before the peer is known. */
  static RailEnd prepare(RailSet rails, int rail, VerbsAccess remoteAccess, PacketNumbers numbers) {
    // A fenced write is two requests.
    return prepare(rails, rail, 2 * rails.specs().get(rail).depth(), remoteAccess, numbers);
  }

  /** A server's end, which posts nothing. */
  static RailEnd prepareForServing(
      RailSet rails, int rail, VerbsAccess remoteAccess, PacketNumbers numbers) {
    return prepare(rails, rail, 1, remoteAccess, numbers);
  }

  @SuppressWarnings("MustBeClosed") // close() does
  private static RailEnd prepare(
      RailSet rails, int rail, int requests, VerbsAccess remoteAccess, PacketNumbers numbers) {
    rails.pin();
    VerbsCompletionQueue completions = null;
    VerbsPreparedQueuePair prepared = null;
    try {
      RailSpec spec = rails.specs().get(rail);
      VerbsDevice device = rails.domain(rail).device();
      VerbsLimits limits = device.limits();
      int granted = Math.min(requests, Math.min(limits.workRequests(), limits.completions()));
      VerbsQueueSettings settings = new VerbsQueueSettings(granted, remoteAccess, spec.path());
      completions = VerbsCompletionQueue.open(device, granted);
      prepared =
          VerbsPreparedQueuePair.open(rails.domain(rail), completions, settings, numbers.next());
      if (prepared.lid() != 0) {
        throw new IllegalStateException(
            spec.device() + " is on InfiniBand, whose peers need more than this handshake tells");
      }
      return new RailEnd(rails, completions, prepared, spec, device.isSoftRoce());
    } catch (RuntimeException | Error e) {
      undo(e, rails, completions, prepared);
      throw e;
    }
  }

  /** A call that makes a queue pair, too late, is about to close that again: then the rest is. */
  private static void undo(
      Throwable failure,
      RailSet rails,
      VerbsCompletionQueue completions,
      VerbsPreparedQueuePair prepared) {
    List<NativeResource> made = Stream.of(completions, prepared).filter(Objects::nonNull).toList();
    Closing.afterFailure(failure, made);
    BooleanSupplier end =
        () -> {
          if (!made.stream().allMatch(NativeResource::isClosed)) {
            Closing.all(made);
          }
          rails.unpin();
          return true;
        };
    if (made.stream().allMatch(NativeResource::isClosed)) {
      boolean unused = end.getAsBoolean();
    } else {
      RailLeftovers.add(end);
    }
  }

  LocalQueuePair local() {
    return local;
  }

  @SuppressWarnings("MustBeClosed") // close() does
  void connect(RemoteQueuePair remote) {
    pair =
        prepared.connect(
            new VerbsRemote(remote.qpn(), remote.psn(), VerbsGid.of(remote.gid().bytes()), 0));
  }

  VerbsCompletionQueue completions() {
    return completions;
  }

  VerbsQueuePair pair() {
    return pair;
  }

  int wantedDepth() {
    return wantedDepth;
  }

  /** The address that the peer was told. */
  VerbsGid gid() {
    return VerbsGid.of(local.gid().bytes());
  }

  VerbsPath path() {
    return path;
  }

  /**
   * Whether the device may say of the request at which the queue pair fails that it was done: Linux
   * 6.1's Soft-RoCE does, when a peer's packets come out of order.
   */
  boolean isDoubtful() {
    return doubtful;
  }

  /** Closes it; what a device does not let go of now is closed when it does. */
  void close() {
    try {
      closeAll();
    } finally {
      settle();
    }
  }

  private void closeAll() {
    List<AutoCloseable> all = new ArrayList<>(List.of(completions, prepared));
    if (pair != null) {
      all.add(pair);
    }
    Closing.all(all);
  }

  /** Closes it; false if the device may still go on with what is in flight. */
  boolean closeQuietly() {
    try {
      close();
    } catch (RuntimeException | OutOfMemoryError e) {
      LOG.log(Level.WARNING, "a rail's queue pair or completion queue did not close", e);
    }
    return isGone();
  }

  private boolean isGone() {
    return pair == null || pair.inFlight() == 0;
  }

  /**
   * Its end, which may be long after {@link #close()} if a call does not return.
   *
   * @return completes when everything is closed; false if the device refused, and may still go on
   *     with what is in flight
   */
  CompletableFuture<Boolean> ended() {
    return ended;
  }

  /** The completion queue goes last. */
  private void settle() {
    if (completions.isClosed()) {
      if (isPinning.compareAndSet(true, false)) {
        rails.unpin();
      }
      boolean unused = ended.complete(isGone());
    } else if (isLeft.compareAndSet(false, true)) {
      RailLeftovers.add(this::endAtLast);
    }
  }

  private boolean endAtLast() {
    try {
      closeAll();
    } finally {
      settle();
    }
    return ended.isDone();
  }
}
