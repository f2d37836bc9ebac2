package org.metrale.gpu.rail;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLSocket;

/** A socket's streams, ended at the deadline by closing the socket. */
final class SocketTransport implements HandshakeTransport {
  private final Socket socket;
  private final InputStream in;
  private final OutputStream out;
  private final DeadlineWatch watch;

  SocketTransport(Socket socket) throws IOException {
    this.socket = socket;
    this.in = socket.getInputStream();
    this.out = socket.getOutputStream();
    this.watch = new DeadlineWatch(this::abort);
  }

  @Override
  public int read(ByteBuffer into, Deadline deadline)
      throws IOException, InterruptedException, TimeoutException {
    byte[] bytes = new byte[into.remaining()];
    int got = watch.during(() -> in.read(bytes), deadline);
    if (got > 0) {
      into.put(bytes, 0, got);
    }
    return got;
  }

  @Override
  public void write(ByteBuffer flight, Deadline deadline)
      throws IOException, InterruptedException, TimeoutException {
    byte[] bytes = new byte[flight.remaining()];
    flight.get(bytes);
    DeadlineWatch.BlockingCall call =
        () -> {
          out.write(bytes);
          out.flush();
          return bytes.length;
        };
    watch.during(call, deadline);
  }

  @Override
  public void close() throws IOException {
    socket.close();
  }

  private void abort() throws IOException {
    if (socket instanceof SSLSocket) {
      // Otherwise the JDK's close waits, without limit, for a write that is stuck to let it send
      // its
      // farewell first (SSLSocketImpl.duplexCloseOutput, JDK 17).
      socket.setSoLinger(true, 0);
    }
    socket.close();
  }
}
