package org.metrale.gpu.nccl;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;

/**
 * What a peer sends, all of it before one deadline: a peer that sends a byte now and then gets no
 * more time than one that sends nothing.
 */
final class GreetingInput extends InputStream {
  private static final int NANOS_A_MILLI = 1_000_000;

  private final Socket socket;
  private final InputStream in;
  private final long end;

  /**
   * Reads from a socket.
   *
   * @param end in the time of {@link System#nanoTime()}
   */
  GreetingInput(Socket socket, long end) throws IOException {
    this.socket = socket;
    this.in = socket.getInputStream();
    this.end = end;
  }

  @Override
  public int read() throws IOException {
    limit();
    return in.read();
  }

  @Override
  public int read(byte[] to, int offset, int length) throws IOException {
    limit();
    return in.read(to, offset, length);
  }

  private void limit() throws IOException {
    long left = end - System.nanoTime();
    if (left <= 0) {
      throw new SocketTimeoutException("the peer took too long");
    }
    socket.setSoTimeout((int) Math.max(1, Math.min(left / NANOS_A_MILLI, Integer.MAX_VALUE)));
  }
}
