package org.metrale.gpu.rail;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A channel: in blocking mode ended at the deadline by closing it, else waited for with a selector.
 */
final class ChannelTransport implements HandshakeTransport {
  private final SocketChannel channel;
  private final DeadlineWatch watch;

  ChannelTransport(SocketChannel channel) {
    this.channel = channel;
    this.watch = new DeadlineWatch(channel);
  }

  @Override
  public int read(ByteBuffer into, Deadline deadline)
      throws IOException, InterruptedException, TimeoutException {
    if (channel.isBlocking()) {
      return watch.during(() -> channel.read(into), deadline);
    }
    check(deadline);
    int got = channel.read(into);
    while (got == 0) {
      await(SelectionKey.OP_READ, deadline);
      got = channel.read(into);
    }
    return got;
  }

  @Override
  public void write(ByteBuffer flight, Deadline deadline)
      throws IOException, InterruptedException, TimeoutException {
    check(deadline);
    while (flight.hasRemaining()) {
      if (channel.isBlocking()) {
        watch.during(() -> channel.write(flight), deadline);
      } else if (channel.write(flight) == 0) {
        await(SelectionKey.OP_WRITE, deadline);
      }
    }
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }

  private void await(int operation, Deadline deadline)
      throws IOException, InterruptedException, TimeoutException {
    try (Selector selector = Selector.open()) {
      channel.register(selector, operation);
      while (selector.selectedKeys().isEmpty()) {
        long nanos = deadline.remainingNanos(System.nanoTime());
        // Rounded up: 0 would mean to wait for ever.
        selector.select(TimeUnit.NANOSECONDS.toMillis(nanos) + 1);
        check(deadline);
      }
    }
  }

  private static void check(Deadline deadline) throws InterruptedException, TimeoutException {
    if (Thread.interrupted()) {
      throw new InterruptedException("waiting for the peer");
    }
    if (deadline.hasPassed(System.nanoTime())) {
      throw new TimeoutException("waiting for the peer");
    }
  }
}
