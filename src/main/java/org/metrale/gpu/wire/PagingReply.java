package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.OptionalLong;

/**
 * A paging server's answer to one operation.
 *
 * <pre>
 *   0        1        9
 *   +--------+--------+
 *   | status | offset |   offset only if status is OK and the operation was ALLOC or GET
 *   +--------+--------+
 * </pre>
 *
 * @param status how it went, known or not
 * @param offsetBytes the slot's place in the arena in bytes, unsigned, where the reply has one
 */
public record PagingReply(PagingStatus status, OptionalLong offsetBytes) {
  /** Where the status is. */
  public static final int STATUS_OFFSET = 0;

  /** Where the slot's place is, in replies that have one. */
  public static final int OFFSET_OFFSET = 1;

  /**
   * Refuses an offset beside any status but {@link PagingStatus#OK}.
   *
   * @param status how it went, known or not
   * @param offsetBytes the slot's place in the arena in bytes, unsigned, where the reply has one
   * @throws IllegalArgumentException if there is one
   */
  public PagingReply {
    Objects.requireNonNull(status, "status");
    Objects.requireNonNull(offsetBytes, "offsetBytes");
    if (offsetBytes.isPresent() && !status.equals(PagingStatus.OK)) {
      throw new IllegalArgumentException("offsetBytes: wanted none beside " + status);
    }
  }

  /**
   * A reply without an offset.
   *
   * @param status how it went
   * @return the reply
   */
  public static PagingReply of(PagingStatus status) {
    return new PagingReply(status, OptionalLong.empty());
  }

  /**
   * A successful reply that says where the slot is.
   *
   * @param offsetBytes the slot's place in the arena, unsigned
   * @return the reply
   */
  public static PagingReply at(long offsetBytes) {
    return new PagingReply(PagingStatus.OK, OptionalLong.of(offsetBytes));
  }

  /**
   * The reply of exactly the remaining bytes.
   *
   * @param whole the reply; its position is left alone
   * @param asked the operation that it answers; the wire does not repeat it
   * @return the reply
   * @throws WireFormatException if there are fewer or more bytes than such a reply has
   */
  public static PagingReply decode(ByteBuffer whole, PagingOp asked) throws WireFormatException {
    WireReader in = new WireReader(whole);
    PagingStatus status = new PagingStatus(in.u8("status"));
    PagingReply reply = carriesOffset(status, asked) ? at(in.u64("offset")) : of(status);
    in.end("paging reply");
    return reply;
  }

  /**
   * How many more bytes are certain to belong to a reply that begins so.
   *
   * @param soFar what has arrived, from the first byte; its position is left alone
   * @param asked the operation that it answers
   * @return 1, then the bytes of the offset if there is one; 0 when the reply is complete
   * @throws WireFormatException if bytes follow the reply
   */
  public static int missing(ByteBuffer soFar, PagingOp asked) throws WireFormatException {
    if (!soFar.hasRemaining()) {
      return OFFSET_OFFSET;
    }
    PagingStatus status = new PagingStatus(Byte.toUnsignedInt(soFar.get(soFar.position())));
    int lengthBytes = OFFSET_OFFSET + (carriesOffset(status, asked) ? Long.BYTES : 0);
    int left = lengthBytes - soFar.remaining();
    if (left < 0) {
      throw WireFormatException.trailing("paging reply", -left);
    }
    return left;
  }

  /**
   * The reply's bytes.
   *
   * @param asked the operation that it answers
   * @return a new buffer, ready to be read
   * @throws IllegalArgumentException if the reply has an offset and should have none, or the
   *     reverse
   */
  public ByteBuffer encode(PagingOp asked) {
    if (carriesOffset(status, asked) != offsetBytes.isPresent()) {
      throw new IllegalArgumentException(
          "offsetBytes: a reply of "
              + status
              + " to "
              + asked
              + (offsetBytes.isPresent() ? " has none" : " has one"));
    }
    if (offsetBytes.isEmpty()) {
      return new WireWriter(OFFSET_OFFSET).u8(status.code()).message();
    }
    WireWriter out = new WireWriter(OFFSET_OFFSET + Long.BYTES);
    return out.u8(status.code()).u64(offsetBytes.getAsLong()).message();
  }

  private static boolean carriesOffset(PagingStatus status, PagingOp asked) {
    return status.equals(PagingStatus.OK)
        && (asked.equals(PagingOp.ALLOC) || asked.equals(PagingOp.GET));
  }
}
