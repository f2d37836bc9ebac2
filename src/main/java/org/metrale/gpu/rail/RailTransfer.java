package org.metrale.gpu.rail;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongConsumer;

/**
 * One transfer: which bytes go where, and how far it is.
 *
 * <p><b>Threading:</b> the public methods may be called by any thread.
 */
public final class RailTransfer {
  /** Which way the bytes go. */
  enum Direction {
    READ,
    WRITE,
    /** A write, each piece of which is followed by a small read that comes after it at the peer. */
    FENCED_WRITE
  }

  /** What a transfer is about. */
  record Order(
      Direction direction,
      RailMemory memory,
      long offset,
      RailTarget target,
      long lengthBytes,
      LongConsumer progress) {
    String range(long from, long length) {
      String what = direction.equals(Direction.READ) ? "read of " : "write of ";
      return what
          + length
          + " bytes at region "
          + target.region()
          + " offset "
          + (target.offset() + from);
    }
  }

  private final Order order;
  private final StripePlan plan;
  private final long deadlineNanos;
  private final CompletableFuture<Void> result = new CompletableFuture<>();

  // Guarded by the engine's lock.
  private final Deque<RailPiece> returned = new ArrayDeque<>();
  private long nextOffset;
  private long unsettledBytes;
  private int piecesOut;
  private boolean pinned = true;
  private boolean inTurn;

  private volatile long doneBytes;

  /** Whether it was failed from outside, so that rails may still be at it. */
  private volatile boolean abandoned;

  RailTransfer(Order order, StripePlan plan, Deadline deadline) {
    this.order = order;
    this.plan = plan;
    this.deadlineNanos = deadline.nanoTime();
    this.unsettledBytes = order.lengthBytes();
  }

  /**
   * The transfer's end.
   *
   * @return completes when all bytes have arrived, or fails with a {@link RailException};
   *     dependents run on the thread that drives the rails and must not wait: there a blocking
   *     transfer is an {@link IllegalStateException}, another in the background is not. If that
   *     thread is in a call that does not return, they run on another
   */
  public CompletionStage<Void> stage() {
    return result.minimalCompletionStage();
  }

  /**
   * Whether it is over, one way or the other.
   *
   * @return true once {@link #stage()} is complete
   */
  public boolean isDone() {
    return result.isDone();
  }

  /**
   * How far it is.
   *
   * @return bytes that have arrived
   */
  public long doneBytes() {
    return doneBytes;
  }

  /**
   * How long it is.
   *
   * @return bytes
   */
  public long lengthBytes() {
    return order.lengthBytes();
  }

  Order order() {
    return order;
  }

  CompletableFuture<Void> result() {
    return result;
  }

  boolean isLate(long nowNanos) {
    return nowNanos - deadlineNanos >= 0;
  }

  /** Whether {@link OpenTransfers} has it take its turns. */
  boolean isInTurn() {
    return inTurn;
  }

  void setInTurn(boolean isInTurn) {
    inTurn = isInTurn;
  }

  /** Whether there is a piece that no rail has. */
  boolean hasPiece() {
    return !result.isDone() && (!returned.isEmpty() || nextOffset < plan.lengthBytes());
  }

  /** The length of the next piece, of those that no rail has had yet. */
  long nextPieceBytes() {
    return returned.isEmpty() ? plan.pieceAt(nextOffset) : returned.peekFirst().lengthBytes();
  }

  /** How many pieces no rail has. */
  long piecesLeft() {
    return returned.size()
        + (plan.lengthBytes() - nextOffset + plan.pieceBytes() - 1) / plan.pieceBytes();
  }

  RailPiece nextPiece() {
    RailPiece again = returned.pollFirst();
    if (again == null) {
      again = new RailPiece(this, nextOffset, plan.pieceAt(nextOffset));
      nextOffset += again.lengthBytes();
    }
    piecesOut++;
    return again;
  }

  void settled(RailPiece piece) {
    piecesOut--;
    unsettledBytes -= piece.lengthBytes();
    doneBytes = order.lengthBytes() - unsettledBytes;
    if (order.progress() != null && !result.isDone()) {
      try {
        order.progress().accept(doneBytes);
      } catch (RuntimeException | Error e) {
        // Of who is told of progress: the step goes on for the others.
        result.completeExceptionally(e);
      }
    }
    if (unsettledBytes == 0) {
      unpinIfOver();
      result.complete(null);
    }
    unpinIfOver();
  }

  /** A piece comes back undone. */
  void returned(RailPiece piece) {
    piecesOut--;
    returned.addLast(piece);
    unpinIfOver();
  }

  void fail(Throwable cause) {
    if (piecesOut == 0) {
      unpin();
    }
    result.completeExceptionally(cause);
  }

  /** Fails it from outside the engine, whose step does not come to an end. */
  void abandon(Throwable cause) {
    if (!result.isDone()) {
      abandoned = true;
      result.completeExceptionally(cause);
    }
  }

  boolean isAbandoned() {
    return abandoned;
  }

  int piecesOut() {
    return piecesOut;
  }

  void unpinIfOver() {
    if (piecesOut == 0 && (unsettledBytes == 0 || result.isDone())) {
      unpin();
    }
  }

  private void unpin() {
    if (pinned) {
      pinned = false;
      order.memory().unpin();
    }
  }

  @Override
  public String toString() {
    return order.range(0, order.lengthBytes()) + ", " + doneBytes + " done";
  }
}
