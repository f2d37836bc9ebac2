package org.metrale.gpu.verbs;

import java.util.List;

/**
 * What became of a posted request, known to this build or not.
 *
 * @param code the number of {@code ibv_wc_status}
 */
public record VerbsWorkStatus(int code) {
  /** Done. */
  public static final VerbsWorkStatus SUCCESS = new VerbsWorkStatus(0);

  /** A message did not fit into the memory of the receive request; Soft-RoCE says 2. */
  public static final VerbsWorkStatus LOCAL_LENGTH = new VerbsWorkStatus(1);

  /** The local range or key is wrong. */
  public static final VerbsWorkStatus LOCAL_PROTECTION = new VerbsWorkStatus(4);

  /** Not done because one before it failed. */
  public static final VerbsWorkStatus FLUSHED = new VerbsWorkStatus(5);

  /**
   * The peer could not do it: a right is missing, or a message is too long for its receive request,
   * for which Soft-RoCE says 11.
   */
  public static final VerbsWorkStatus REMOTE_INVALID_REQUEST = new VerbsWorkStatus(9);

  /** The peer does not allow it: key, range or right. */
  public static final VerbsWorkStatus REMOTE_ACCESS = new VerbsWorkStatus(10);

  /** The peer did not answer. */
  public static final VerbsWorkStatus RETRIES_EXCEEDED = new VerbsWorkStatus(12);

  /** The peer had no receive request, as often as it was tried. */
  public static final VerbsWorkStatus RECEIVER_NOT_READY = new VerbsWorkStatus(13);

  private static final List<String> SYMBOLS =
      List.of(
          "IBV_WC_SUCCESS",
          "IBV_WC_LOC_LEN_ERR",
          "IBV_WC_LOC_QP_OP_ERR",
          "IBV_WC_LOC_EEC_OP_ERR",
          "IBV_WC_LOC_PROT_ERR",
          "IBV_WC_WR_FLUSH_ERR",
          "IBV_WC_MW_BIND_ERR",
          "IBV_WC_BAD_RESP_ERR",
          "IBV_WC_LOC_ACCESS_ERR",
          "IBV_WC_REM_INV_REQ_ERR",
          "IBV_WC_REM_ACCESS_ERR",
          "IBV_WC_REM_OP_ERR",
          "IBV_WC_RETRY_EXC_ERR",
          "IBV_WC_RNR_RETRY_EXC_ERR",
          "IBV_WC_LOC_RDD_VIOL_ERR",
          "IBV_WC_REM_INV_RD_REQ_ERR",
          "IBV_WC_REM_ABORT_ERR",
          "IBV_WC_INV_EECN_ERR",
          "IBV_WC_INV_EEC_STATE_ERR",
          "IBV_WC_FATAL_ERR",
          "IBV_WC_RESP_TIMEOUT_ERR",
          "IBV_WC_GENERAL_ERR",
          "IBV_WC_TM_ERR",
          "IBV_WC_TM_RNDV_INCOMPLETE");

  /** Whose fault a status speaks of. */
  public enum Side {
    /** Nobody's. */
    NONE,
    /** This side's: request, memory, queue pair or port. */
    LOCAL,
    /** The peer answered and refused. */
    PEER,
    /** The peer could not be reached. */
    PATH,
    /** It does not say: flushed, or unknown. */
    UNKNOWN
  }

  /**
   * The status of a number.
   *
   * @param code the number of {@code ibv_wc_status}
   * @return the status
   */
  public static VerbsWorkStatus of(int code) {
    return new VerbsWorkStatus(code);
  }

  /**
   * The name in the header.
   *
   * @return the constant's name, or a text that holds the number
   */
  public String symbol() {
    return code >= 0 && code < SYMBOLS.size() ? SYMBOLS.get(code) : "IBV_WC_" + code;
  }

  /**
   * The library's words for it.
   *
   * @return a text; empty without the library
   */
  public String text() {
    return VerbsLibrary.isAvailable() ? VerbsWorkCalls.statusText(code) : "";
  }

  /**
   * Whose fault it speaks of.
   *
   * @return the side
   */
  public Side side() {
    return switch (code) {
      case 0 -> Side.NONE;
      case 1, 2, 3, 4, 6, 8, 14, 19 -> Side.LOCAL;
      case 7, 9, 10, 11, 15, 16 -> Side.PEER;
      case 12, 13, 20 -> Side.PATH;
      default -> Side.UNKNOWN;
    };
  }

  @Override
  public String toString() {
    return symbol() + " (" + code + ")";
  }
}
