package org.metrale.gpu.rail;

import java.io.IOException;
import java.net.Socket;

/**
 * What is laid over a TCP connection, at either end. With TLS that asks for the client's
 * certificate, a server lets only those in who have one that it trusts:
 *
 * <pre>{@code
 * connection -> {
 *   SSLSocket tls = (SSLSocket) factory.createSocket(connection, null, 0, true);
 *   tls.setUseClientMode(false);
 *   tls.setNeedClientAuth(true);
 *   return tls;
 * }
 * }</pre>
 *
 * <p>The connection itself stays known: closing it ends whatever the layer waits for.
 */
@FunctionalInterface
public interface SocketLayer {
  /** Nothing: plain TCP. */
  SocketLayer NONE = connection -> connection;

  /**
   * Lays something over a connection; must not wait for the peer.
   *
   * @param connection the connection, which is closed at the latest by whoever made it
   * @return the socket to speak through
   * @throws IOException if it cannot be done; the connection is closed then
   */
  Socket over(Socket connection) throws IOException;
}
