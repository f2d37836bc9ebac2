package org.metrale.gpu.rail;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketOption;
import java.util.Map;

/**
 * Lets the system notice that a peer's machine is gone, though nobody has anything to say: after
 * about a minute instead of never.
 */
final class KeepAlive {
  /** Seconds, seconds and tries; the JDK has them in a module of its own. */
  private static final Map<String, Integer> PACE =
      Map.of("TCP_KEEPIDLE", 30, "TCP_KEEPINTERVAL", 10, "TCP_KEEPCOUNT", 3);

  private KeepAlive() {}

  static void on(Socket socket) throws IOException {
    socket.setKeepAlive(true);
    for (SocketOption<?> option : socket.supportedOptions()) {
      if (PACE.containsKey(option.name()) && option.type().equals(Integer.class)) {
        @SuppressWarnings("unchecked") // its type says so
        SocketOption<Integer> number = (SocketOption<Integer>) option;
        socket.setOption(number, PACE.get(option.name()));
      }
    }
  }
}
