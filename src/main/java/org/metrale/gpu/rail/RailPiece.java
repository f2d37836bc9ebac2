package org.metrale.gpu.rail;

/** Part of a transfer, done by one request on one rail; done again on another if that fails. */
final class RailPiece {
  private final RailTransfer transfer;
  private final long offset;
  private final long lengthBytes;
  private int failures;

  RailPiece(RailTransfer transfer, long offset, long lengthBytes) {
    this.transfer = transfer;
    this.offset = offset;
    this.lengthBytes = lengthBytes;
  }

  RailTransfer transfer() {
    return transfer;
  }

  /** Where in the transfer it begins. */
  long offset() {
    return offset;
  }

  long lengthBytes() {
    return lengthBytes;
  }

  /** Counts one more failure. */
  int failedAgain() {
    return ++failures;
  }

  String range() {
    return transfer.order().range(offset, lengthBytes);
  }
}
