package org.metrale.gpu.rail;

import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeoutException;

/**
 * The stream that a handshake runs over, with waits that end.
 *
 * <p><b>Threading:</b> one thread reads and writes; any thread may close.
 *
 * <p><b>Blocking:</b> no longer than until the deadline, and interruptible, whatever the peer does.
 * A wait that is cut short leaves the stream unusable: close it.
 */
public interface HandshakeTransport extends Closeable {
  /**
   * Reads some bytes.
   *
   * @param into where to put them; has room for one or more, and no more than fit are taken off the
   *     stream
   * @param deadline when to stop waiting
   * @return how many bytes were read, 1 or more, or -1 if the peer closed its side
   * @throws IOException if the connection breaks
   * @throws InterruptedException if the thread is or was interrupted; its flag is cleared
   * @throws TimeoutException if the deadline passes
   */
  int read(ByteBuffer into, Deadline deadline)
      throws IOException, InterruptedException, TimeoutException;

  /**
   * Writes a whole flight, with one write where the stream allows.
   *
   * @param flight the bytes; all are taken
   * @param deadline when to stop waiting
   * @throws IOException if the connection breaks
   * @throws InterruptedException if the thread is or was interrupted; its flag is cleared
   * @throws TimeoutException if the deadline passes
   */
  void write(ByteBuffer flight, Deadline deadline)
      throws IOException, InterruptedException, TimeoutException;

  /**
   * A transport over a socket, plain or TLS.
   *
   * <p>A TLS socket that has not been used yet shakes hands within the same deadline.
   *
   * @param socket a connected socket; closed by {@link #close()} and when a wait is cut short
   * @return the transport
   * @throws IOException if the socket has no streams to give, for example because it is closed
   */
  static HandshakeTransport of(Socket socket) throws IOException {
    return new SocketTransport(socket);
  }

  /**
   * A transport over a channel, in blocking mode or not.
   *
   * @param channel a connected channel; closed by {@link #close()} and when a wait is cut short;
   *     its mode must not change meanwhile
   * @return the transport
   */
  static HandshakeTransport of(SocketChannel channel) {
    return new ChannelTransport(channel);
  }

  /**
   * A transport over any pair of streams.
   *
   * <p>Streams cannot be told to stop waiting, so each wait happens on a thread of the transport's
   * own, which is left to itself when the wait is cut short and ends when the stream lets it. For
   * sockets {@link #of(Socket)} is cheaper and leaves nothing behind.
   *
   * @param in where the peer's bytes come from; closed by {@link #close()}
   * @param out where bytes for the peer go, flushed after each flight; closed by {@link #close()}
   * @return the transport
   */
  static HandshakeTransport of(InputStream in, OutputStream out) {
    return new StreamTransport(in, out);
  }
}
