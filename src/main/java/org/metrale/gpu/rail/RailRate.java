package org.metrale.gpu.rail;

/**
 * How fast a rail has been lately, while it had something to do.
 *
 * <p>Only stretches that carried enough to be about bandwidth count: small transfers take the time
 * of their way, not of their bytes.
 */
final class RailRate {
  private static final long LEAST_BYTES = 128 << 10;
  private static final double NEWEST = 0.3;

  private double bytesPerNano;
  private long sinceNanos;
  private long bytes;
  private long inFlightBytes;

  void began(long pieceBytes, long nowNanos) {
    if (inFlightBytes == 0) {
      sinceNanos = nowNanos;
      bytes = 0;
    }
    inFlightBytes += pieceBytes;
  }

  void ended(long pieceBytes, long nowNanos) {
    inFlightBytes -= pieceBytes;
    bytes += pieceBytes;
    long elapsed = nowNanos - sinceNanos;
    if (bytes >= LEAST_BYTES && elapsed > 0) {
      double now = (double) bytes / elapsed;
      bytesPerNano = bytesPerNano == 0 ? now : bytesPerNano + NEWEST * (now - bytesPerNano);
      sinceNanos = nowNanos;
      bytes = 0;
    }
  }

  /** Whether anything is known. */
  boolean isKnown() {
    return bytesPerNano > 0;
  }

  /** How long it would take until a piece more was done, at the given rate if none is known. */
  double nanosFor(long pieceBytes, double otherwise) {
    return (inFlightBytes + pieceBytes) / (isKnown() ? bytesPerNano : otherwise);
  }

  double bytesPerNano() {
    return bytesPerNano;
  }
}
