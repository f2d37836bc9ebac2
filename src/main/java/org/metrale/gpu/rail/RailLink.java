package org.metrale.gpu.rail;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.metrale.gpu.rail.RailTransfer.Direction;
import org.metrale.gpu.verbs.VerbsCompletions;
import org.metrale.gpu.verbs.VerbsGid;
import org.metrale.gpu.verbs.VerbsMemoryRegion;
import org.metrale.gpu.verbs.VerbsPath;
import org.metrale.gpu.verbs.VerbsWorkBatch;
import org.metrale.gpu.verbs.VerbsWorkException;
import org.metrale.gpu.wire.Region;

/**
 * One connected rail with what it has in flight. Guarded by the engine's lock.
 *
 * <p>A rail that failed is first told to give back what it has; if it does not within a moment, its
 * queue pair is destroyed, after which nothing of it can touch memory any more.
 */
final class RailLink implements RailChoice.Lane {
  /** How long a failed rail may take to give back what it has. */
  private static final long FLUSH_NANOS = Duration.ofMillis(250).toNanos();

  /** A rail without a completion is given up after this, and this often its own patience. */
  private static final long STALL_NANOS = Duration.ofSeconds(3).toNanos();

  private static final int STALL_PATIENCE = 4;

  /** What a rail carries at least, 1 MB/s: the bytes of a piece take their time too. */
  private static final long NANOS_PER_BYTE = 1000;

  /** Marks the first request of a piece, which is done only when the one after it is. */
  private static final long FOLLOWED = 1L << 32;

  /** What a link tells of. */
  interface Owner {
    /** A piece was not done because of this. */
    void refused(RailLink link, RailPiece piece, VerbsWorkException cause);

    /** A piece that the device may be at for ever: it cannot be done again. */
    void stuck(RailLink link, RailPiece piece);

    /** The device is at it no more, long after it was stuck. */
    void letGo(RailPiece piece);

    /** The rail has failed; its pieces come back one by one. */
    void failed(RailLink link);
  }

  private final int rail;
  private final RailEnd end;
  private final List<Region> remote;
  private final RailMemory fenceMemory;
  private final Owner owner;
  private final VerbsWorkBatch batch;
  private final VerbsCompletions done;
  private final RailPiece[] pieces;
  private final int[] free;
  private final RailRate rate = new RailRate();
  private final long stallNanos;
  private final RailFault fault;

  /** What brings it down; null while it is active. */
  private RailEnding ending;

  private int freeCount;

  /** Anybody may ask for it, and for the bytes. */
  private volatile RailStatus.State state = RailStatus.State.ACTIVE;

  /** Also by those that were here before. */
  private final AtomicLong carriedBytes = new AtomicLong();

  private long failedAtNanos;
  private long downAtNanos;
  private long movedAtNanos;
  private long lastTurn;

  RailLink(int rail, RailEnd end, List<Region> remote, RailMemory fenceMemory, Owner owner) {
    this.rail = rail;
    this.end = end;
    this.remote = remote;
    this.fenceMemory = fenceMemory;
    this.owner = owner;
    this.stallNanos = stallNanos(end.path());
    this.fault = new RailFault(end);
    int depth = Math.max(1, Math.min(end.wantedDepth(), end.pair().depth() / 2));
    this.batch = VerbsWorkBatch.allocate(2 * depth);
    this.done = VerbsCompletions.allocate(2 * depth);
    this.pieces = new RailPiece[depth];
    this.free = new int[depth];
    for (int i = 0; i < depth; i++) {
      free[i] = i;
    }
    freeCount = depth;
  }

  /**
   * How long the oldest request may take: far longer than the adapter would try. Those that are
   * told to try for ever may; the transfer's deadline ends that.
   */
  private static long stallNanos(VerbsPath path) {
    if (path.timeoutCode() == 0 || path.retryCount() == 7) {
      return Long.MAX_VALUE;
    }
    return STALL_NANOS + STALL_PATIENCE * (path.retryCount() + 1L) * (4096L << path.timeoutCode());
  }

  int rail() {
    return rail;
  }

  RailStatus.State state() {
    return state;
  }

  boolean isDown() {
    return state.equals(RailStatus.State.DOWN);
  }

  /** Whether the queue pair has been gone for so long. */
  boolean isDownFor(long nanos, long nowNanos) {
    return isDown() && nowNanos - downAtNanos >= nanos;
  }

  /** Whether this is a rail of that connection. */
  boolean isOn(RailGeneration connection) {
    return connection.ends().contains(end);
  }

  /** Takes the place of another, before it has carried anything. */
  void follow(RailLink before) {
    carriedBytes.setRelease(before.carriedBytes());
  }

  /** The address that the peer was told. */
  VerbsGid gid() {
    return end.gid();
  }

  long carriedBytes() {
    return carriedBytes.getAcquire();
  }

  RailFault fault() {
    return fault;
  }

  int regions() {
    return remote.size();
  }

  long maxMessageBytes() {
    return end.pair().maxMessageBytes();
  }

  @Override
  public boolean hasRoom() {
    // A piece is two requests at most.
    return isActive() && freeCount > 0 && batch.room() >= 2;
  }

  @Override
  public boolean isActive() {
    return state.equals(RailStatus.State.ACTIVE);
  }

  @Override
  public RailRate rate() {
    return rate;
  }

  @Override
  public int depth() {
    return pieces.length;
  }

  @Override
  public boolean isIdle() {
    return freeCount == pieces.length;
  }

  @Override
  public long lastTurn() {
    return lastTurn;
  }

  @Override
  public void takeTurn(long turn) {
    lastTurn = turn;
  }

  /** Takes a piece; {@link #flush()} posts it. */
  void take(RailPiece piece) {
    long now = System.nanoTime();
    if (isIdle()) {
      movedAtNanos = now;
    }
    int slot = free[--freeCount];
    pieces[slot] = piece;
    rate.began(piece.lengthBytes(), now);
    RailTransfer.Order order = piece.transfer().order();
    Region region = remote.get(order.target().region());
    VerbsMemoryRegion local = order.memory().region(rail);
    long near = order.offset() + piece.offset();
    long far = region.base() + order.target().offset() + piece.offset();
    int rkey = (int) region.rkey();
    Direction direction = order.direction();
    // What follows is done only if the queue pair did not fail at the request before it.
    boolean isFollowed = direction.equals(Direction.FENCED_WRITE) || end.isDoubtful();
    long id = isFollowed ? slot | FOLLOWED : slot;
    if (direction.equals(Direction.READ)) {
      batch.read(id, local, near, piece.lengthBytes(), far, rkey);
    } else {
      batch.write(id, local, near, piece.lengthBytes(), far, rkey);
    }
    long last = piece.lengthBytes() - 1;
    if (isFollowed && direction.equals(Direction.WRITE)) {
      // The peer need not allow reads: its last byte once more.
      batch.write(slot, local, near + last, 1, far + last, rkey);
    } else if (isFollowed) {
      batch.read(slot, fenceMemory.region(rail), rail, 1, far + last, rkey);
    }
  }

  /** Posts what was taken. */
  void flush() {
    if (batch.isEmpty()) {
      return;
    }
    try {
      end.pair().post(batch);
    } catch (RuntimeException e) {
      batch.clear();
      fail(e);
    }
  }

  /** Takes completions; true if there were any. */
  boolean poll(Consumer<RailPiece> arrived) {
    if (isDown() || (ending != null && ending.isClosing())) {
      return false;
    }
    int count;
    try {
      count = end.completions().pollOnce(done);
    } catch (RuntimeException e) {
      fail(e);
      ending.close();
      return true;
    }
    for (int i = 0; i < count; i++) {
      completed(i, arrived);
    }
    if (count > 0) {
      movedAtNanos = System.nanoTime();
    }
    // What the device had no room for.
    flush();
    return count > 0;
  }

  private void completed(int index, Consumer<RailPiece> arrived) {
    long id = done.workId(index);
    int slot = (int) id;
    if (isDown()) {
      // A listener has closed the rails: what they had was given back.
      return;
    }
    if (done.isSuccess(index)) {
      if ((id & FOLLOWED) == 0) {
        RailPiece piece = release(slot);
        carriedBytes.setRelease(carriedBytes.getPlain() + piece.lengthBytes());
        arrived.accept(piece);
      }
      return;
    }
    VerbsWorkException cause = done.failure(index);
    fail(cause);
    if (pieces[slot] != null) {
      owner.refused(this, release(slot), cause);
    }
  }

  private RailPiece release(int slot) {
    RailPiece piece = pieces[slot];
    pieces[slot] = null;
    free[freeCount++] = slot;
    rate.ended(piece.lengthBytes(), System.nanoTime());
    return piece;
  }

  /** Takes the rail out of rotation. */
  void fail(Throwable cause) {
    if (!state.equals(RailStatus.State.ACTIVE)) {
      return;
    }
    state = RailStatus.State.FAILING;
    fault.failed(cause);
    failedAtNanos = System.nanoTime();
    batch.clear();
    ending = new RailEnding(end, cause);
    owner.failed(this);
  }

  /**
   * Gives up on a rail whose completions have stopped coming, and brings a failing one down when it
   * has nothing left, or has had its time; true if it did.
   */
  boolean settle(long nowNanos) {
    if (isActive() && !isIdle() && hasStalled(nowNanos - movedAtNanos)) {
      fail(
          new IllegalStateException(
              "no completion for "
                  + Duration.ofNanos(nowNanos - movedAtNanos).toMillis()
                  + " ms, which is longer than the adapter may try"));
      return true;
    }
    if (!state.equals(RailStatus.State.FAILING)) {
      return false;
    }
    if ((isIdle() && !fault.mayBeTold()) || nowNanos - failedAtNanos > FLUSH_NANOS) {
      ending.close();
    }
    ending.goOn();
    if (ending.isOver()) {
      bury(ending.await(new Deadline(nowNanos)));
      return true;
    }
    return false;
  }

  private boolean hasStalled(long silenceNanos) {
    if (silenceNanos <= stallNanos) {
      return false;
    }
    long longest = 0;
    for (RailPiece piece : pieces) {
      longest = piece == null ? longest : Math.max(longest, piece.lengthBytes());
    }
    return silenceNanos - stallNanos > longest * NANOS_PER_BYTE;
  }

  /** The queue pair is destroyed, or cannot be; what was in flight comes back. */
  private void bury(boolean isGone) {
    state = RailStatus.State.DOWN;
    downAtNanos = System.nanoTime();
    List<RailPiece> stuck = new ArrayList<>();
    for (int slot = 0; slot < pieces.length; slot++) {
      if (pieces[slot] != null && isGone) {
        owner.refused(this, release(slot), null);
      } else if (pieces[slot] != null) {
        RailPiece piece = release(slot);
        stuck.add(piece);
        owner.stuck(this, piece);
      }
    }
    if (!stuck.isEmpty()) {
      whenGone(() -> stuck.forEach(owner::letGo));
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // fails never
  private void whenGone(Runnable then) {
    end.ended()
        .thenAccept(
            isGone -> {
              if (isGone) {
                then.run();
              }
            });
  }

  /** When its end is closed, see {@link RailEnd#ended()}. */
  CompletableFuture<Boolean> ended() {
    return end.ended();
  }

  /** Whether a piece of this transfer is in flight here. */
  boolean carries(RailTransfer transfer) {
    for (RailPiece piece : pieces) {
      if (piece != null && piece.transfer() == transfer) {
        return true;
      }
    }
    return false;
  }

  /** Begins to end the rail, whatever is in flight. */
  void beginClose() {
    if (isActive()) {
      state = RailStatus.State.FAILING;
      batch.clear();
      ending = new RailEnding(end, new IllegalStateException("closed"));
    }
    if (!isDown()) {
      ending.close();
    }
  }

  /** Ends it; what is in flight is stuck if the device does not let go of it in time. */
  void awaitClose(Deadline deadline) {
    if (!isDown()) {
      bury(ending.await(deadline));
    }
  }
}
