package org.metrale.tools;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Iterator;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongConsumer;
import org.metrale.gpu.rail.RailException;
import org.metrale.gpu.rail.RailStatus;
import org.metrale.gpu.rail.RailTarget;
import org.metrale.gpu.rail.RailTransfer;
import org.metrale.gpu.rail.TransferTerms;

/**
 * Moves long ranges through the two halves of a session's memory, so that the rails have the next
 * window while this side works on the last one.
 */
final class RailCopy {
  /** How much is one transfer, and has one time limit. */
  static final int WINDOW_BYTES = 8 << 20;

  /** How much memory a session needs for this. */
  static final long MEMORY_BYTES = 2L * WINDOW_BYTES;

  /** What the transfer's own deadline may be late by before it is not believed in any more. */
  private static final Duration GRACE = Duration.ofSeconds(30);

  private final RailSession session;
  private final Duration timeout;
  private final ByteBuffer staging = ByteBuffer.allocateDirect(WINDOW_BYTES);

  RailCopy(RailSession session, Duration timeout) {
    this.session = session;
    this.timeout = timeout;
  }

  /** A range of the peer's memory. */
  record Range(RailTarget start, long bytes) {}

  /** Takes what arrived, or gives what is to leave. */
  @FunctionalInterface
  interface Window {
    /**
     * One window.
     *
     * @param bytes what arrived, or room for what is to leave, all of which is to be filled
     */
    void on(ByteBuffer bytes) throws ToolException;
  }

  /** Reads a range; {@code sink} gets it window by window, in order. */
  void read(Range range, Window sink, LongConsumer progress)
      throws ToolException, InterruptedException {
    Windows windows = new Windows(range);
    Piece now = windows.next();
    RailTransfer transfer = readAsync(now, progress);
    while (now != null) {
      Piece then = windows.hasNext() ? windows.next() : null;
      RailTransfer next = null;
      await(transfer);
      if (then != null) {
        next = readAsync(then, progress);
      }
      staging.clear().limit(now.bytes);
      session.memory().read(now.localOffset(), staging);
      sink.on(staging.flip());
      now = then;
      transfer = next;
    }
  }

  /** Writes a range; {@code source} gives it window by window, in order. */
  void write(Range range, Window source, LongConsumer progress)
      throws ToolException, InterruptedException {
    Windows windows = new Windows(range);
    RailTransfer before = null;
    while (windows.hasNext()) {
      Piece now = windows.next();
      staging.clear().limit(now.bytes);
      source.on(staging);
      session.memory().write(now.localOffset(), staging.flip());
      if (before != null) {
        await(before);
      }
      before =
          session
              .connected()
              .writeAsync(
                  session.memory(),
                  now.localOffset(),
                  now.target(),
                  now.bytes,
                  terms(now, progress));
    }
    await(before);
  }

  private RailTransfer readAsync(Piece piece, LongConsumer progress) {
    return session
        .connected()
        .readAsync(
            session.memory(),
            piece.localOffset(),
            piece.target(),
            piece.bytes,
            terms(piece, progress));
  }

  private TransferTerms terms(Piece piece, LongConsumer progress) {
    return TransferTerms.within(timeout).telling(done -> progress.accept(piece.offset + done));
  }

  private void await(RailTransfer transfer) throws ToolException, InterruptedException {
    try {
      transfer
          .stage()
          .toCompletableFuture()
          .get(timeout.plus(GRACE).toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RailException failure) {
        boolean isAlone =
            session.connected().status().stream()
                .noneMatch(status -> status.state().equals(RailStatus.State.ACTIVE));
        String hint = isAlone ? "; no rail is left: does the peer still run?" : "";
        throw new ToolException(failure.getMessage() + hint, failure);
      }
      throw new ToolException("the transfer failed: " + e.getCause(), e.getCause());
    } catch (TimeoutException e) {
      throw new ToolException("the transfer outlived its deadline: " + transfer, e);
    }
  }

  /** One window of a range. */
  private record Piece(Range range, long offset, int bytes) {
    RailTarget target() {
      return new RailTarget(range.start().region(), range.start().offset() + offset);
    }

    /** Windows take turns in the two halves of the memory. */
    long localOffset() {
      return (offset / WINDOW_BYTES) % 2 * WINDOW_BYTES;
    }
  }

  private static final class Windows implements Iterator<Piece> {
    private final Range range;
    private long offset;

    Windows(Range range) {
      this.range = range;
    }

    @Override
    public boolean hasNext() {
      return offset < range.bytes();
    }

    @Override
    public Piece next() {
      int bytes = (int) Math.min(WINDOW_BYTES, range.bytes() - offset);
      Piece out = new Piece(range, offset, bytes);
      offset += bytes;
      return out;
    }
  }
}
