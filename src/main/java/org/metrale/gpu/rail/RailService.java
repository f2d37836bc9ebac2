package org.metrale.gpu.rail;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.wire.RailDialect;

/**
 * What a {@link RailServer} serves.
 *
 * <p><b>Threading:</b> called by one thread a connection, by several at the same time.
 */
public interface RailService {
  /** Longer than any connection. */
  Duration FOR_EVER = Duration.ofDays(36_500);

  /**
   * The record format, which also decides the rights: clients of a read-only service can write
   * nowhere.
   *
   * @return the dialect
   */
  RailDialect dialect();

  /**
   * Exchanges the preamble with a client and decides what it is offered.
   *
   * @param connection what the preamble is sent and received on, with the handshake's deadline
   * @return what the client is offered
   * @throws IOException if the client is refused or fails
   */
  RailShare greet(HandshakeConnection connection) throws IOException;

  /**
   * Goes on with a client whose rails are connected; they end when this returns.
   *
   * <p>If nothing else is said, what the client sends is passed over until it hangs up.
   *
   * @param transport the stream after the handshake
   * @throws IOException if the stream breaks
   * @throws InterruptedException if the server ends
   */
  default void serve(HandshakeTransport transport) throws IOException, InterruptedException {
    ByteBuffer sink = ByteBuffer.allocate(4096);
    try {
      int count;
      do {
        count = transport.read(sink.clear(), Deadline.after(FOR_EVER));
      } while (count >= 0);
    } catch (TimeoutException e) {
      throw new IOException(e);
    }
  }

  /**
   * Tells of a client that is gone; what was made for it alone can be freed.
   *
   * @param share what {@link #greet} answered
   */
  default void gone(RailShare share) {}
}
