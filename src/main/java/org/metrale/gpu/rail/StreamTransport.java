package org.metrale.gpu.rail;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.DaemonThread;

/** Any pair of streams, waited for on a thread that may be left behind. */
final class StreamTransport implements HandshakeTransport {
  private final InputStream in;
  private final OutputStream out;
  private final ExecutorService waiter;

  StreamTransport(InputStream in, OutputStream out) {
    this.in = in;
    this.out = out;
    ThreadPoolExecutor one =
        new ThreadPoolExecutor(
            1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), StreamTransport::daemon);
    one.allowCoreThreadTimeOut(true);
    this.waiter = one;
  }

  @Override
  public int read(ByteBuffer into, Deadline deadline)
      throws IOException, InterruptedException, TimeoutException {
    byte[] bytes = new byte[into.remaining()];
    int got = await(() -> in.read(bytes), deadline);
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
    Callable<Integer> call =
        () -> {
          out.write(bytes);
          out.flush();
          return bytes.length;
        };
    await(call, deadline);
  }

  /**
   * Closes both streams without waiting: a stream that somebody is stuck in may take its time, and
   * it does so on a thread of its own; only where none is to be had it is this one.
   */
  @Override
  public void close() {
    waiter.shutdownNow();
    try {
      daemon(this::closeStreams).start();
    } catch (OutOfMemoryError e) {
      closeStreams();
    }
  }

  private int await(Callable<Integer> call, Deadline deadline)
      throws IOException, InterruptedException, TimeoutException {
    if (Thread.interrupted()) {
      throw new InterruptedException("before the wait");
    }
    if (waiter.isShutdown()) {
      throw new IOException("the transport is closed");
    }
    Future<Integer> answer = waiter.submit(call);
    try {
      return answer.get(deadline.remainingNanos(System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof IOException failure) {
        throw failure;
      }
      throw new IOException("a stream failed", e.getCause());
    } catch (InterruptedException | TimeoutException e) {
      answer.cancel(true);
      throw e;
    }
  }

  private void closeStreams() {
    try {
      try {
        out.close();
      } finally {
        in.close();
      }
    } catch (IOException e) {
      // The handshake is over; whoever needed these streams has heard why.
      return;
    }
  }

  private static Thread daemon(Runnable task) {
    return new DaemonThread(task, "metrale-handshake-stream");
  }
}
