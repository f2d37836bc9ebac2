package org.metrale.gpu.wire;

import java.io.IOException;
import java.util.Objects;

/**
 * Bytes that are not a message: which field, what was allowed there and what was found.
 *
 * <p>A value that cannot be written because no reader would take it is the caller's fault and
 * surfaces as an {@link IllegalArgumentException} whose cause is an exception of this type, made by
 * the same check.
 *
 * <p>It has no stack trace: what it tells is in the field's name, and a peer that sends rubbish is
 * not to cost more than one that does not. Filling the trace in took several times as long as
 * decoding a good frame. Whoever it ends a connection for throws an exception of its own, with one.
 */
public final class WireFormatException extends IOException {
  private static final long serialVersionUID = 1L;

  /** What is wrong with the bytes. */
  public enum Kind {
    /** A frame's rail count is outside what both ends take. */
    RAIL_COUNT_OUT_OF_RANGE,
    /** A server's frame holds another number of rails than was asked for. */
    RAIL_COUNT_MISMATCH,
    /** A client's second rail count differs from its first. */
    CLIENT_COUNT_MISMATCH,
    /** A rail count that one unsigned byte cannot carry, or none. */
    COUNT_NOT_ENCODABLE,
    /** A read-only record's region count is 0 or above the limit. */
    REGION_COUNT_OUT_OF_RANGE,
    /** The bytes end inside the message; the field is the one that was due. */
    TRUNCATED,
    /** Bytes are left after the message. */
    TRAILING_BYTES,
    /** A paging header in a version that is no longer spoken. */
    MAGIC_RETIRED,
    /** The first eight bytes are no paging header. */
    MAGIC_UNKNOWN,
    /** A paging header asks for a kind of cache that does not exist. */
    KIND_UNSUPPORTED,
    /** A paging header asks for an arena of no bytes or of too many. */
    ARENA_OUT_OF_RANGE,
    /** A paging header's arena is not a whole number of blobs. */
    ARENA_NOT_MULTIPLE,
    /** A paging header asks for paging where there is none. */
    PAGING_UNAVAILABLE,
    /** A length prefix is 0 or above its limit. */
    LENGTH_OUT_OF_RANGE,
    /** A text is not UTF-8. */
    NOT_UTF8,
    /** A transport mode that is not served. */
    MODE_UNKNOWN
  }

  /** What is wrong. */
  private final Kind kind;

  /** The field at fault, outermost record first. */
  private final String field;

  /** What was wanted there. */
  private final String wanted;

  /** What was found there. */
  private final String got;

  private WireFormatException(Kind kind, String field, String wanted, String got) {
    this.kind = Objects.requireNonNull(kind, "kind");
    this.field = field;
    this.wanted = wanted;
    this.got = got;
  }

  /**
   * The whole of it in one line.
   *
   * @return a text such as {@code rail[0].regionCount: wanted 1 to 4096, got 0}
   */
  @Override
  public String getMessage() {
    return field + ": wanted " + wanted + ", got " + got;
  }

  /** Does nothing; see above. */
  @Override
  public synchronized Throwable fillInStackTrace() {
    return this;
  }

  /**
   * What is wrong with the bytes.
   *
   * @return the kind of fault
   */
  public Kind kind() {
    return kind;
  }

  /**
   * The field at fault, such as {@code rail[0].region[2].rkey}.
   *
   * @return the field's name, outermost record first
   */
  public String field() {
    return field;
  }

  /**
   * What the format or the caller wanted there.
   *
   * @return a text such as {@code 1 to 8}
   */
  public String wanted() {
    return wanted;
  }

  /**
   * What was found there.
   *
   * @return a text such as {@code 255}
   */
  public String got() {
    return got;
  }

  static WireFormatException truncated(String field, int lengthBytes, int remainingBytes) {
    String got = remainingBytes == 0 ? "the end" : remainingBytes + " bytes and the end";
    return new WireFormatException(Kind.TRUNCATED, field, lengthBytes + " bytes", got);
  }

  static WireFormatException trailing(String record, int remainingBytes) {
    return new WireFormatException(
        Kind.TRAILING_BYTES, record, "the end", remainingBytes + " bytes more");
  }

  static WireFormatException outOfRange(Kind kind, String field, long value, long min, long max) {
    return new WireFormatException(kind, field, min + " to " + max, Long.toString(value));
  }

  static WireFormatException of(Kind kind, String field, String wanted, String got) {
    return new WireFormatException(kind, field, wanted, got);
  }

  /** The same fault, seen from the record that encloses the one that found it. */
  WireFormatException within(String record) {
    return new WireFormatException(kind, record + "." + field, wanted, got);
  }

  /** The same fault, made by the caller instead of by received bytes. */
  IllegalArgumentException asCallerFault() {
    return new IllegalArgumentException(getMessage(), this);
  }
}
