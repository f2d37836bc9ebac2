package org.metrale.gpu.verbs;

/**
 * What a completed request did, known to this build or not.
 *
 * @param code the number of {@code ibv_wc_opcode}
 */
public record VerbsOperation(int code) {
  /** A message was sent. */
  public static final VerbsOperation SEND = new VerbsOperation(0);

  /** The peer's memory was written. */
  public static final VerbsOperation WRITE = new VerbsOperation(1);

  /** The peer's memory was read. */
  public static final VerbsOperation READ = new VerbsOperation(2);

  /** Eight bytes of the peer's were compared and perhaps replaced. */
  public static final VerbsOperation COMPARE_AND_SWAP = new VerbsOperation(3);

  /** A number was added to eight bytes of the peer's. */
  public static final VerbsOperation FETCH_AND_ADD = new VerbsOperation(4);

  /** A message was received. */
  public static final VerbsOperation RECEIVE = new VerbsOperation(128);

  /** The peer wrote to this side's memory and said so with immediate data. */
  public static final VerbsOperation RECEIVE_OF_WRITE = new VerbsOperation(129);

  /**
   * The operation of a number.
   *
   * @param code the number of {@code ibv_wc_opcode}
   * @return the operation; nothing is allocated for those that are named here
   */
  public static VerbsOperation of(int code) {
    return switch (code) {
      case 0 -> SEND;
      case 1 -> WRITE;
      case 2 -> READ;
      case 3 -> COMPARE_AND_SWAP;
      case 4 -> FETCH_AND_ADD;
      case 128 -> RECEIVE;
      case 129 -> RECEIVE_OF_WRITE;
      default -> new VerbsOperation(code);
    };
  }

  /**
   * The name in the header.
   *
   * @return the constant's name, or a text that holds the number
   */
  public String symbol() {
    return switch (code) {
      case 0 -> "IBV_WC_SEND";
      case 1 -> "IBV_WC_RDMA_WRITE";
      case 2 -> "IBV_WC_RDMA_READ";
      case 3 -> "IBV_WC_COMP_SWAP";
      case 4 -> "IBV_WC_FETCH_ADD";
      case 128 -> "IBV_WC_RECV";
      case 129 -> "IBV_WC_RECV_RDMA_WITH_IMM";
      default -> "IBV_WC_" + code;
    };
  }

  @Override
  public String toString() {
    return symbol() + " (" + code + ")";
  }
}
