package org.metrale.gpu.rail;

import java.nio.ByteBuffer;
import org.metrale.gpu.wire.WireFormatException;

/**
 * How one message is taken off a stream: exactly its own bytes, and refused as early as it can be.
 *
 * @param <T> what the message is
 */
public interface MessageFormat<T> {
  /**
   * How many more bytes are certain to belong to a message that begins so.
   *
   * @param soFar what has arrived, from the first byte; its position is left alone
   * @return the number of bytes, or 0 when the message is complete
   * @throws WireFormatException if what has arrived cannot become a message
   */
  int missing(ByteBuffer soFar) throws WireFormatException;

  /**
   * The message of exactly the remaining bytes.
   *
   * @param whole the message's bytes
   * @return the message
   * @throws WireFormatException if the bytes are not a message
   */
  T decode(ByteBuffer whole) throws WireFormatException;

  /**
   * A format of two functions.
   *
   * @param <T> what the message is
   * @param missing how many more bytes are certain to belong to it
   * @param decode the message of exactly the remaining bytes
   * @return the format
   */
  static <T> MessageFormat<T> of(Missing missing, Decode<T> decode) {
    return new MessageFormat<>() {
      @Override
      public int missing(ByteBuffer soFar) throws WireFormatException {
        return missing.of(soFar);
      }

      @Override
      public T decode(ByteBuffer whole) throws WireFormatException {
        return decode.of(whole);
      }
    };
  }

  /**
   * A format of messages that are all of one length.
   *
   * @param <T> what the message is
   * @param lengthBytes that length
   * @param decode the message of exactly the remaining bytes
   * @return the format
   */
  static <T> MessageFormat<T> ofLength(int lengthBytes, Decode<T> decode) {
    return of(soFar -> lengthBytes - soFar.remaining(), decode);
  }

  /** How many more bytes are certain to belong to a message. */
  @FunctionalInterface
  interface Missing {
    /**
     * See {@link MessageFormat#missing(ByteBuffer)}.
     *
     * @param soFar what has arrived
     * @return the number of bytes
     * @throws WireFormatException if what has arrived cannot become a message
     */
    int of(ByteBuffer soFar) throws WireFormatException;
  }

  /**
   * The message of exactly the remaining bytes.
   *
   * @param <T> what the message is
   */
  @FunctionalInterface
  interface Decode<T> {
    /**
     * See {@link MessageFormat#decode(ByteBuffer)}.
     *
     * @param whole the message's bytes
     * @return the message
     * @throws WireFormatException if the bytes are not a message
     */
    T of(ByteBuffer whole) throws WireFormatException;
  }
}
