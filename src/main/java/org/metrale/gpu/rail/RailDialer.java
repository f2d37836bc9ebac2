package org.metrale.gpu.rail;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.concurrent.TimeUnit;

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
   * A plain TCP connection.
   *
   * @param address where the server listens; the name is looked up each time
   * @return the dialer
   */
  static RailDialer tcp(InetSocketAddress address) {
    return deadline -> {
      Socket socket = new Socket();
      try {
        socket.setTcpNoDelay(true);
        long millis = TimeUnit.NANOSECONDS.toMillis(deadline.remainingNanos(System.nanoTime())) + 1;
        InetSocketAddress now = new InetSocketAddress(address.getHostString(), address.getPort());
        socket.connect(now, (int) Math.min(Integer.MAX_VALUE, millis));
        return HandshakeTransport.of(socket);
      } catch (IOException | RuntimeException | Error e) {
        socket.close();
        throw e;
      }
    };
  }
}
