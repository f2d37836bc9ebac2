package org.metrale.gpu.rail;

import java.io.IOException;
import org.metrale.gpu.wire.WireFormatException;

/**
 * A handshake that came to nothing: why, with which peer, what was wanted and got, and where to
 * look.
 *
 * <p>What the bytes or the stream had to say is the cause: a {@link WireFormatException}, an {@link
 * IOException}, or, for {@link Reason#LOCAL_FAULT}, whatever this side failed with.
 */
public final class HandshakeException extends IOException {
  private static final long serialVersionUID = 1L;

  /** Why a handshake came to nothing. */
  public enum Reason {
    /** The peer closed or reset the connection exactly where its rail count was due. */
    PEER_REJECTED("the peer refused"),
    /** The connection was closed or reset anywhere else; the field is the one that was due. */
    TRUNCATED("the connection ended"),
    /** A rail count is outside what both ends take. */
    RAIL_COUNT_OUT_OF_RANGE("the rail count is impossible"),
    /** The server granted another number of rails than was asked for. */
    RAIL_COUNT_MISMATCH("the peer granted another number of rails"),
    /** A region count is outside what both ends take. */
    REGION_COUNT_OUT_OF_RANGE("the region count is impossible"),
    /** The client's second rail count differs from its first. */
    CLIENT_COUNT_MISMATCH("the peer changed its number of rails"),
    /** The client asked for no rails or for more than this server has. */
    RAILS_UNAVAILABLE("the peer asked for rails that are not there"),
    /** The records and this side's rails differ in number. */
    PAIRING_MISMATCH("rails cannot be paired"),
    /** A record is well-formed and says something that no queue pair or memory can have. */
    UNUSABLE_RECORD("the peer's record cannot be used"),
    /** This side looked at what the server offers and declined. */
    OFFER_REFUSED("this side declined the offer"),
    /** The server's acknowledgement is not 0. */
    ACK_REFUSED("the peer could not connect its side"),
    /** Something failed on this side; the peer is not to blame. */
    LOCAL_FAULT("this side failed"),
    /** The deadline passed. */
    DEADLINE_PASSED("the deadline passed"),
    /** This thread was interrupted. */
    INTERRUPTED("this thread was interrupted"),
    /** A paging header in a version that is no longer spoken. */
    MAGIC_RETIRED("the peer speaks a retired version"),
    /** The first eight bytes are no paging header. */
    MAGIC_UNKNOWN("the peer speaks something else"),
    /** A paging header asks for a kind of cache that does not exist. */
    KIND_UNSUPPORTED("the kind of cache is unknown"),
    /** A paging header asks for an arena of no bytes or of too many. */
    ARENA_OUT_OF_RANGE("the arena's size is impossible"),
    /** A paging header's arena is not a whole number of blobs. */
    ARENA_NOT_MULTIPLE("the arena is not a whole number of blobs"),
    /** A paging header asks for paging where there is none. */
    PAGING_UNAVAILABLE("paging is not available"),
    /** A length prefix is 0 or above its limit. */
    LENGTH_OUT_OF_RANGE("the length is impossible"),
    /** A text is not UTF-8. */
    NOT_UTF8("the text is not UTF-8"),
    /** The transport mode is not served. */
    MODE_UNKNOWN("the transport mode is not served"),
    /** Bytes that are no message for another reason. */
    MALFORMED("the message is malformed");

    private final String words;

    Reason(String words) {
      this.words = words;
    }

    /** The reason behind bytes that are not a message. */
    static Reason of(WireFormatException.Kind kind) {
      return switch (kind) {
        case RAIL_COUNT_OUT_OF_RANGE -> RAIL_COUNT_OUT_OF_RANGE;
        case RAIL_COUNT_MISMATCH -> RAIL_COUNT_MISMATCH;
        case CLIENT_COUNT_MISMATCH -> CLIENT_COUNT_MISMATCH;
        case REGION_COUNT_OUT_OF_RANGE -> REGION_COUNT_OUT_OF_RANGE;
        case TRUNCATED -> TRUNCATED;
        case MAGIC_RETIRED -> MAGIC_RETIRED;
        case MAGIC_UNKNOWN -> MAGIC_UNKNOWN;
        case KIND_UNSUPPORTED -> KIND_UNSUPPORTED;
        case ARENA_OUT_OF_RANGE -> ARENA_OUT_OF_RANGE;
        case ARENA_NOT_MULTIPLE -> ARENA_NOT_MULTIPLE;
        case PAGING_UNAVAILABLE -> PAGING_UNAVAILABLE;
        case LENGTH_OUT_OF_RANGE -> LENGTH_OUT_OF_RANGE;
        case NOT_UTF8 -> NOT_UTF8;
        case MODE_UNKNOWN -> MODE_UNKNOWN;
        case COUNT_NOT_ENCODABLE, TRAILING_BYTES -> MALFORMED;
      };
    }
  }

  /** Why. */
  private final Reason reason;

  /** With whom. */
  private final String peer;

  /** The field or step at fault. */
  private final String field;

  /** What was wanted there. */
  private final String wanted;

  /** What was got there. */
  private final String got;

  /** Where to look. */
  private final String lookAt;

  HandshakeException(String peer, Fault fault, Throwable cause) {
    super(
        peer
            + ": "
            + fault.reason.words
            + ": "
            + fault.field
            + ": wanted "
            + fault.wanted
            + ", got "
            + fault.got
            + "; look at "
            + fault.lookAt,
        cause);
    this.reason = fault.reason;
    this.peer = peer;
    this.field = fault.field;
    this.wanted = fault.wanted;
    this.got = fault.got;
    this.lookAt = fault.lookAt;
  }

  HandshakeException(String peer, Fault fault) {
    this(peer, fault, null);
  }

  /**
   * Why the handshake came to nothing.
   *
   * @return the reason
   */
  public Reason reason() {
    return reason;
  }

  /**
   * The other side.
   *
   * @return the name that the connection was given for it
   */
  public String peer() {
    return peer;
  }

  /**
   * Where in the handshake it was.
   *
   * @return the field that was due or is wrong, such as {@code rail[0].rkey}, or the step
   */
  public String field() {
    return field;
  }

  /**
   * What was wanted there.
   *
   * @return a text such as {@code 2}
   */
  public String wanted() {
    return wanted;
  }

  /**
   * What was got there.
   *
   * @return a text such as {@code 1}
   */
  public String got() {
    return got;
  }

  /**
   * Where the answer to it is likely to be found.
   *
   * @return a text such as {@code the peer's log}
   */
  public String lookAt() {
    return lookAt;
  }

  /** All that there is to say about a failure but who the peer is. */
  record Fault(Reason reason, String field, String wanted, String got, String lookAt) {
    /** What bytes that are not a message amount to. */
    static Fault of(WireFormatException e) {
      // The low half of an arena's address stands where the number of regions is read.
      String hint =
          e.kind().equals(WireFormatException.Kind.REGION_COUNT_OUT_OF_RANGE)
              ? "whether the peer serves read-only: nothing on the wire tells the dialects apart"
              : "the peer's log and its version";
      return new Fault(Reason.of(e.kind()), e.field(), e.wanted(), e.got(), hint);
    }
  }
}
