package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * What rank 0 sends to every other rank on a port of its own: NCCL's unique id and nothing else.
 *
 * <pre>
 *   0                128
 *   +----------------+
 *   | unique id, raw |
 *   +----------------+
 * </pre>
 *
 * <p>Whoever holds the id can join the group: treat it as a secret. {@link #toString()} does not
 * show it.
 */
public final class NcclBootstrap {
  /** The length on the wire in bytes. */
  public static final int BYTES = 128;

  private final byte[] uniqueId;

  private NcclBootstrap(byte[] uniqueId) {
    this.uniqueId = uniqueId;
  }

  /**
   * The message that carries an id.
   *
   * @param uniqueId the id; copied
   * @return the message
   * @throws IllegalArgumentException if there are not exactly {@value #BYTES} bytes
   */
  public static NcclBootstrap of(byte[] uniqueId) {
    if (uniqueId.length != BYTES) {
      throw new IllegalArgumentException(
          "uniqueId: wanted " + BYTES + " bytes, got " + uniqueId.length);
    }
    return new NcclBootstrap(uniqueId.clone());
  }

  /**
   * The message of exactly the remaining bytes.
   *
   * @param whole the message; its position is left alone
   * @return the message
   * @throws WireFormatException if there are fewer or more than {@value #BYTES} bytes
   */
  public static NcclBootstrap decode(ByteBuffer whole) throws WireFormatException {
    WireReader in = new WireReader(whole);
    NcclBootstrap message = new NcclBootstrap(in.bytes("uniqueId", BYTES));
    in.end("bootstrap message");
    return message;
  }

  /**
   * The id.
   *
   * @return a copy of its {@value #BYTES} bytes
   */
  public byte[] uniqueId() {
    return uniqueId.clone();
  }

  /**
   * The message's bytes.
   *
   * @return a new buffer of {@value #BYTES} bytes, ready to be read
   */
  public ByteBuffer encode() {
    return ByteBuffer.wrap(uniqueId.clone());
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof NcclBootstrap that && Arrays.equals(uniqueId, that.uniqueId);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(uniqueId);
  }

  @Override
  public String toString() {
    return "NcclBootstrap[" + BYTES + " bytes]";
  }
}
