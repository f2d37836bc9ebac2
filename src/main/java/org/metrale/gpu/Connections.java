package org.metrale.gpu;

import java.io.IOException;
import java.net.ConnectException;
import java.net.Socket;

/** What is to be known of TCP by all that connect; for the packages of this module. */
public final class Connections {
  private Connections() {}

  /**
   * Ends a connection that came out at itself. Where nobody listens on a port of this machine, the
   * system may give that very port to whoever connects to it, and TCP then joins the socket to
   * itself; nobody could listen there as long as it stays.
   *
   * @param socket connected; closed if it is its own peer
   * @throws ConnectException if so: nobody listens
   * @throws IOException if it cannot be closed
   */
  public static void refuseItself(Socket socket) throws IOException {
    if (socket.getRemoteSocketAddress().equals(socket.getLocalSocketAddress())) {
      // At once, so that the port is free.
      socket.setSoLinger(true, 0);
      socket.close();
      throw new ConnectException("nobody listens at " + socket.getRemoteSocketAddress());
    }
  }
}
