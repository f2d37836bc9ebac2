package org.metrale.gpu.rail;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLSocket;
import org.metrale.gpu.DaemonThread;

/** A socket's streams, ended at the deadline by closing the socket. */
final class SocketTransport implements HandshakeTransport {
  /** How long TLS may take to say farewell to a peer that perhaps does not read. */
  private static final long FAREWELL_MILLIS = 1000;

  private final Socket socket;

  /** What the socket is laid over, if it is. */
  private final Socket base;

  private final InputStream in;
  private final OutputStream out;
  private final DeadlineWatch watch;

  SocketTransport(Socket socket) throws IOException {
    this(socket, socket);
  }

  SocketTransport(Socket socket, Socket base) throws IOException {
    this.socket = socket;
    this.base = base;
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
    boolean isFarewell = socket instanceof SSLSocket && bidFarewell();
    if (!(isFarewell && base instanceof SSLSocket)) {
      abort();
    }
  }

  /** Says farewell on a thread that may be left behind; false if none is to be had for it. */
  private boolean bidFarewell() {
    Thread farewell = new DaemonThread(this::closeQuietly, "metrale-handshake-farewell");
    try {
      farewell.start();
    } catch (OutOfMemoryError e) {
      return false;
    }
    try {
      farewell.join(FAREWELL_MILLIS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return true;
  }

  private void closeQuietly() {
    try {
      socket.close();
    } catch (IOException e) {
      // Without a farewell, then: what it is laid over, if anything, is closed next.
      return;
    }
  }

  private void abort() throws IOException {
    if (base instanceof SSLSocket) {
      // Otherwise the JDK's close waits, without limit, for a write that is stuck to let it send
      // its
      // farewell first (SSLSocketImpl.duplexCloseOutput, JDK 17).
      base.setSoLinger(true, 0);
    }
    base.close();
  }
}
