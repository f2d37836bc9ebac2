package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class TcpDialerTest {
  private static final Duration LONG = Duration.ofSeconds(50);

  /** A server that never takes a connection, and has no room for one more to wait. */
  private static final class Full implements AutoCloseable {
    private final ServerSocket listener = Loopback.listener();
    private final List<Socket> waiting = new ArrayList<>();

    Full() throws IOException {
      boolean hasRoom = true;
      while (hasRoom) {
        Socket socket = new Socket();
        waiting.add(socket);
        try {
          socket.connect(listener.getLocalSocketAddress(), 200);
        } catch (SocketTimeoutException e) {
          hasRoom = false;
        }
      }
    }

    RailDialer dialer() {
      return RailDialer.tcp((InetSocketAddress) listener.getLocalSocketAddress());
    }

    @Override
    public void close() throws IOException {
      for (Socket socket : waiting) {
        socket.close();
      }
      listener.close();
    }
  }

  @Test
  void aConnectionThatDoesNotComeAboutEndsAtTheDeadline() throws Exception {
    try (Full server = new Full()) {
      Deadline soon = Deadline.after(Duration.ofMillis(100));
      SocketTimeoutException e =
          assertThrows(SocketTimeoutException.class, () -> server.dialer().open(soon));
      assertTrue(e.getMessage().contains("was not reached in time"), e::toString);
      assertThrows(SocketTimeoutException.class, () -> server.dialer().open(soon));
    }
  }

  @Test
  void anInterruptEndsIt() throws Exception {
    try (Full server = new Full()) {
      FutureTask<Boolean> dialing =
          new FutureTask<>(
              () -> {
                Deadline late = Deadline.after(LONG);
                assertThrows(InterruptedIOException.class, () -> server.dialer().open(late));
                return Thread.interrupted();
              });
      Thread thread = new Thread(dialing, "dialing");
      thread.start();
      thread.interrupt();
      assertTrue(dialing.get(), "the thread's flag is not set");
    }
  }

  @Test
  void aNameIsLookedUpAndOneThatDoesNotExistIsSaid() throws Exception {
    try (ServerSocket listener = Loopback.listener()) {
      InetSocketAddress name =
          InetSocketAddress.createUnresolved("localhost", listener.getLocalPort());
      try (HandshakeTransport there = RailDialer.tcp(name).open(Deadline.after(LONG));
          Socket here = listener.accept()) {
        here.getOutputStream().write(7);
        ByteBuffer got = ByteBuffer.allocate(1);
        there.read(got, Deadline.after(LONG));
        assertEquals(7, got.get(0));
      }
      InetSocketAddress none = InetSocketAddress.createUnresolved("no.such.host.invalid", 1);
      assertThrows(IOException.class, () -> RailDialer.tcp(none).open(Deadline.after(LONG)));
    }
  }

  @Test
  void aSocketIsKeptAlive() throws Exception {
    try (Socket socket = new Socket()) {
      assertFalse(socket.getKeepAlive());
      KeepAlive.on(socket);
      assertTrue(socket.getKeepAlive());
      List<Object> pace = new ArrayList<>();
      for (java.net.SocketOption<?> option : socket.supportedOptions()) {
        if (option.name().equals("TCP_KEEPIDLE")) {
          pace.add(socket.getOption(option));
        }
      }
      assertEquals(List.of(30), pace);
    }
  }
}
