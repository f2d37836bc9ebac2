package org.metrale.gpu.rail;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.Connections;
import org.metrale.gpu.DaemonThread;

/**
 * TCP, perhaps with a layer; neither the look-up of the name nor the connection outlives the
 * deadline.
 */
record TcpDialer(InetSocketAddress address, SocketLayer layer) implements RailDialer {
  @Override
  public HandshakeTransport open(Deadline deadline) throws IOException {
    Socket socket = new Socket();
    try {
      socket.setTcpNoDelay(true);
      InetSocketAddress found = lookUp(deadline);
      DeadlineWatch.BlockingCall connecting =
          () -> {
            socket.connect(found);
            return 0;
          };
      new DeadlineWatch(socket).during(connecting, deadline);
      Connections.refuseItself(socket);
      return new SocketTransport(layer.over(socket), socket);
    } catch (IOException | RuntimeException | Error e) {
      socket.close();
      throw e;
    } catch (TimeoutException e) {
      socket.close();
      throw late(e);
    } catch (InterruptedException e) {
      socket.close();
      Thread.currentThread().interrupt();
      throw late(new InterruptedIOException("connecting to " + address + " was interrupted"), e);
    }
  }

  /** On a thread that may be left behind: a look-up cannot be told to stop. */
  private InetSocketAddress lookUp(Deadline deadline)
      throws IOException, InterruptedException, TimeoutException {
    String host = address.getHostString();
    FutureTask<InetSocketAddress> task =
        new FutureTask<>(() -> new InetSocketAddress(host, address.getPort()));
    Thread thread = new DaemonThread(task, "metrale-look-up " + host);
    thread.start();
    try {
      return task.get(deadline.remainingNanos(System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      throw new IOException(host + " cannot be looked up", e.getCause());
    }
  }

  private IOException late(TimeoutException cause) {
    return late(new SocketTimeoutException(address + " was not reached in time"), cause);
  }

  private static IOException late(IOException out, Exception cause) {
    out.initCause(cause);
    return out;
  }
}
