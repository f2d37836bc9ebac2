package org.metrale.gpu.rail;

import java.io.IOException;
import java.net.InetSocketAddress;

/** How a client reaches its server, at first and again when rails are rebuilt. */
@FunctionalInterface
public interface RailDialer {
  /**
   * Opens a connection.
   *
   * @param deadline when to give up
   * @return the transport, on which nothing has been said
   * @throws IOException if the server cannot be reached
   */
  HandshakeTransport open(Deadline deadline) throws IOException;

  /**
   * A plain TCP connection; interruptible, which is an {@link java.io.InterruptedIOException}.
   *
   * @param address where the server listens; the name is looked up each time
   * @return the dialer
   */
  static RailDialer tcp(InetSocketAddress address) {
    return tcp(address, SocketLayer.NONE);
  }

  /**
   * A TCP connection with TLS or something else over it; interruptible likewise.
   *
   * @param address where the server listens; the name is looked up each time
   * @param layer what is laid over the connection
   * @return the dialer
   */
  static RailDialer tcp(InetSocketAddress address, SocketLayer layer) {
    return new TcpDialer(address, layer);
  }
}
