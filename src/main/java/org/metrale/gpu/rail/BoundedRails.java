package org.metrale.gpu.rail;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.wire.ServerFrame;

/**
 * One client's rails at the server, whose devices are waited for no longer than the handshake may
 * take: one that is stuck costs its client, and not the server's room for others.
 */
final class BoundedRails implements ServerRails {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");

  /** How long the devices may take to give the client's queue pairs up. */
  private static final Duration CLOSING = Duration.ofSeconds(5);

  private final ServedRails served;
  private final Deadline deadline;

  /** What the devices do now, or did last; what comes next begins when it is over. */
  private CompletableFuture<?> last = CompletableFuture.completedFuture(true);

  BoundedRails(ServedRails served, Deadline deadline) {
    this.served = served;
    this.deadline = deadline;
  }

  @Override
  public int available() {
    return served.available();
  }

  @Override
  public ServerFrame prepare(int rails) throws IOException {
    return take(() -> served.prepare(rails));
  }

  @Override
  public void connect(int railIndex, RemoteQueuePair remote) throws IOException {
    boolean unused =
        take(
            () -> {
              served.connect(railIndex, remote);
              return true;
            });
  }

  /** Something that devices do. */
  private interface Step<T> {
    T take() throws IOException;
  }

  private <T> T take(Step<T> step) throws IOException {
    CompletableFuture<T> answer =
        BoundedCall.start(
            () -> {
              try {
                return step.take();
              } catch (IOException e) {
                throw new UncheckedIOException(e);
              }
            });
    last = answer;
    try {
      long left = deadline.remainingNanos(System.nanoTime());
      return BoundedCall.await(answer, Duration.ofNanos(left));
    } catch (UncheckedIOException e) {
      throw e.getCause();
    } catch (TimeoutException e) {
      throw new IOException("a device of this side does not answer", e);
    }
  }

  /**
   * Closes the client's rails.
   *
   * @param afterwards runs when that is over, which may be after this returns
   */
  void close(Runnable afterwards) {
    CompletableFuture<?> before = last;
    CompletableFuture<Boolean> closing =
        BoundedCall.startOrRun(
            () -> {
              Object unused = before.exceptionally(failure -> null).join();
              served.close(afterwards);
              return true;
            });
    try {
      boolean unused = BoundedCall.await(closing, CLOSING);
    } catch (TimeoutException e) {
      LOG.log(Level.WARNING, "a device does not give up a client's queue pairs", e);
    }
  }
}
