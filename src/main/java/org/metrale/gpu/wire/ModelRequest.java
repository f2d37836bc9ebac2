package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import org.metrale.gpu.wire.WireFormatException.Kind;

/**
 * How a client of the weight service begins: the model that it wants.
 *
 * <pre>
 *   0        4                4 + length
 *   +--------+----------------+
 *   | length | modelId, UTF-8 |
 *   +--------+----------------+
 * </pre>
 *
 * @param modelId the model's name or folder, 1 to {@link #MAX_BYTES} bytes in UTF-8
 */
public record ModelRequest(String modelId) {
  /** The length of the prefix in bytes. */
  public static final int PREFIX_BYTES = 4;

  /** The longest name in bytes; the prefix could carry 2^32-1. */
  public static final int MAX_BYTES = 8192;

  /**
   * Refuses what no reader takes.
   *
   * @param modelId the model's name or folder, 1 to {@link #MAX_BYTES} bytes in UTF-8
   * @throws IllegalArgumentException if the name is empty, too long, or holds a lone surrogate; the
   *     cause is what a reader would say
   */
  public ModelRequest {
    Objects.requireNonNull(modelId, "modelId");
    utf8(modelId);
  }

  /**
   * The request of exactly the remaining bytes.
   *
   * @param whole the request; its position is left alone
   * @return the request
   * @throws WireFormatException if the length is out of range, the name is not UTF-8, or there are
   *     fewer or more bytes than the length says
   */
  public static ModelRequest decode(ByteBuffer whole) throws WireFormatException {
    WireReader in = new WireReader(whole);
    int lengthBytes = WireCounts.length("modelId.length", in.u32("modelId.length"), MAX_BYTES);
    byte[] name = in.bytes("modelId", lengthBytes);
    in.end("model request");
    try {
      return new ModelRequest(
          StandardCharsets.UTF_8
              .newDecoder()
              .onMalformedInput(CodingErrorAction.REPORT)
              .onUnmappableCharacter(CodingErrorAction.REPORT)
              .decode(ByteBuffer.wrap(name))
              .toString());
    } catch (CharacterCodingException e) {
      throw notUtf8();
    }
  }

  /**
   * How many more bytes are certain to belong to a request that begins so.
   *
   * @param soFar what has arrived, from the first byte; its position is left alone
   * @return the bytes of the prefix, then of the name; 0 when the request is complete
   * @throws WireFormatException if the length is out of range, or bytes follow the request
   */
  public static int missing(ByteBuffer soFar) throws WireFormatException {
    return missing(soFar, "modelId", MAX_BYTES);
  }

  /**
   * The request's bytes.
   *
   * @return a new buffer, ready to be read
   */
  public ByteBuffer encode() {
    ByteBuffer name = utf8(modelId);
    WireWriter out = new WireWriter(PREFIX_BYTES + name.remaining());
    return out.u32(name.remaining()).bytes(name).message();
  }

  /** What is missing of a length prefix and its body. */
  static int missing(ByteBuffer soFar, String field, int maxBytes) throws WireFormatException {
    ByteBuffer in = soFar.slice().order(ByteOrder.LITTLE_ENDIAN);
    if (in.limit() < PREFIX_BYTES) {
      return PREFIX_BYTES - in.limit();
    }
    long prefix = Integer.toUnsignedLong(in.getInt(0));
    long left = WireCounts.length(field + ".length", prefix, maxBytes);
    left += PREFIX_BYTES - in.limit();
    if (left < 0) {
      throw WireFormatException.trailing(field, (int) -left);
    }
    return (int) left;
  }

  private static ByteBuffer utf8(String text) {
    try {
      ByteBuffer name = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      WireCounts.length("modelId.length", name.remaining(), MAX_BYTES);
      return name;
    } catch (WireFormatException e) {
      throw e.asCallerFault();
    } catch (CharacterCodingException e) {
      throw notUtf8().asCallerFault();
    }
  }

  private static WireFormatException notUtf8() {
    return WireFormatException.of(Kind.NOT_UTF8, "modelId", "UTF-8", "other bytes");
  }
}
