package org.metrale.gpu.rail;

import java.io.Closeable;
import java.io.IOException;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;

/** Two connected ends of one kind of stream, on ephemeral loopback ports where it needs any. */
record Loopback(HandshakeTransport client, HandshakeTransport server) implements Closeable {
  /** Small enough for a large frame not to fit; the system rounds it up. */
  private static final int BUFFER_BYTES = 4096;

  /** The kinds of stream that a handshake runs over. */
  enum Kind {
    SOCKET {
      @Override
      Loopback open() throws IOException {
        try (ServerSocket listener = listener()) {
          Socket client = new Socket();
          client.setReceiveBufferSize(BUFFER_BYTES);
          client.connect(listener.getLocalSocketAddress());
          return new Loopback(
              HandshakeTransport.of(client), HandshakeTransport.of(small(listener.accept())));
        }
      }
    },

    STREAMS {
      @Override
      Loopback open() throws IOException {
        try (ServerSocket listener = listener()) {
          Socket client = new Socket();
          client.setReceiveBufferSize(BUFFER_BYTES);
          client.connect(listener.getLocalSocketAddress());
          Socket server = small(listener.accept());
          return new Loopback(
              HandshakeTransport.of(client.getInputStream(), client.getOutputStream()),
              HandshakeTransport.of(server.getInputStream(), server.getOutputStream()));
        }
      }
    },

    PIPES {
      @Override
      Loopback open() throws IOException {
        PipedInputStream toServer = new PipedInputStream();
        PipedInputStream toClient = new PipedInputStream();
        return new Loopback(
            HandshakeTransport.of(toClient, new PipedOutputStream(toServer)),
            HandshakeTransport.of(toServer, new PipedOutputStream(toClient)));
      }
    },

    BLOCKING_CHANNEL {
      @Override
      Loopback open() throws IOException {
        return channels(true);
      }
    },

    POLLED_CHANNEL {
      @Override
      Loopback open() throws IOException {
        return channels(false);
      }
    },

    TLS {
      @Override
      Loopback open() throws IOException {
        try (ServerSocket listener = Tls.listener()) {
          listener.setReceiveBufferSize(BUFFER_BYTES);
          Socket client = Tls.client(listener.getLocalSocketAddress());
          return new Loopback(
              HandshakeTransport.of(client), HandshakeTransport.of(small(listener.accept())));
        }
      }
    };

    abstract Loopback open() throws IOException;
  }

  @Override
  public void close() throws IOException {
    client.close();
    server.close();
  }

  static ServerSocket listener() throws IOException {
    return new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
  }

  private static Socket small(Socket socket) throws IOException {
    socket.setSendBufferSize(BUFFER_BYTES);
    return socket;
  }

  private static Loopback channels(boolean blocking) throws IOException {
    try (ServerSocketChannel listener = ServerSocketChannel.open()) {
      listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      SocketChannel client = SocketChannel.open();
      client.socket().setReceiveBufferSize(BUFFER_BYTES);
      client.connect(listener.getLocalAddress());
      SocketChannel server = listener.accept();
      server.socket().setSendBufferSize(BUFFER_BYTES);
      client.configureBlocking(blocking);
      server.configureBlocking(blocking);
      return new Loopback(HandshakeTransport.of(client), HandshakeTransport.of(server));
    }
  }
}
