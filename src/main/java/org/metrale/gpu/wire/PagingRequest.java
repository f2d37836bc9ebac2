package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * One operation of a paging client, on the same stream after the rail handshake.
 *
 * <pre>
 *   0    1      9
 *   +----+------+
 *   | op | key  |
 *   +----+------+
 * </pre>
 *
 * <p>A server stops at the first byte of {@link PagingOp#BYE}, so a farewell may also come without
 * a key; it is then read as one with key 0.
 *
 * @param op what is asked, known or not
 * @param key the slot's key, 64 bits
 */
public record PagingRequest(PagingOp op, long key) {
  /** The length on the wire in bytes. */
  public static final int BYTES = 9;

  /** Where the operation is. */
  public static final int OP_OFFSET = 0;

  /** Where the key is. */
  public static final int KEY_OFFSET = 1;

  /**
   * Refuses null.
   *
   * @param op what is asked, known or not
   * @param key the slot's key, 64 bits
   */
  public PagingRequest {
    Objects.requireNonNull(op, "op");
  }

  /**
   * The request of exactly the remaining bytes.
   *
   * @param whole the request; its position is left alone
   * @return the request
   * @throws WireFormatException if there are fewer or more than {@value #BYTES} bytes, or, for a
   *     farewell, neither one nor {@value #BYTES}
   */
  public static PagingRequest decode(ByteBuffer whole) throws WireFormatException {
    WireReader in = new WireReader(whole);
    PagingOp op = new PagingOp(in.u8("op"));
    boolean bare = op.equals(PagingOp.BYE) && in.remainingBytes() == 0;
    PagingRequest request = new PagingRequest(op, bare ? 0 : in.u64("key"));
    in.end("paging request");
    return request;
  }

  /**
   * How many more bytes are certain to belong to a request that begins so.
   *
   * @param soFar what has arrived, from the first byte; its position is left alone
   * @return 1, then the bytes of the key; 0 when the request is complete, which a farewell is after
   *     its first byte
   * @throws WireFormatException if bytes follow the request
   */
  public static int missing(ByteBuffer soFar) throws WireFormatException {
    int gotBytes = soFar.remaining();
    if (gotBytes == 0) {
      return KEY_OFFSET;
    }
    if (gotBytes > BYTES) {
      throw WireFormatException.trailing("paging request", gotBytes - BYTES);
    }
    int op = Byte.toUnsignedInt(soFar.get(soFar.position()));
    return gotBytes == KEY_OFFSET && op == PagingOp.BYE.code() ? 0 : BYTES - gotBytes;
  }

  /**
   * The request's bytes.
   *
   * @return a new buffer of {@value #BYTES} bytes, ready to be read
   */
  public ByteBuffer encode() {
    return new WireWriter(BYTES).u8(op.code()).u64(key).message();
  }
}
