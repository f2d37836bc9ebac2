package org.metrale.gpu.rail;

import com.google.errorprone.annotations.MustBeClosed;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.NavigableSet;
import java.util.Objects;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.LongConsumer;
import java.util.stream.IntStream;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.rail.RailTransfer.Direction;
import org.metrale.gpu.rail.RailTransfer.Order;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.ServerFrame;

/**
 * Rails that are connected to a peer: transfers of any length between registered memory and the
 * peer's, shared over the rails.
 *
 * <p>Each rail has a bounded number of pieces in flight and takes the next when one is done, so
 * that each carries what it can. A rail that fails leaves rotation, and its pieces are done again
 * on the others; reads and writes may be done twice without harm, since a transfer is over only
 * when all of it is done. What was written on a rail that failed is written again a second after
 * its queue pair is gone: until then its packets may still come to the peer, and must not come when
 * the transfer is over and something else is there. Failed rails, and only they, are rebuilt in the
 * background by a new handshake on a connection of their own, see {@link RailClient#rebuilding}. So
 * is a rail whose device says that it is lost, or that the address is gone that the peer was told;
 * the rebuilt one has the address that is best then.
 *
 * <p><b>Threading:</b> safe for any number of threads. A blocking transfer is driven by the thread
 * that waits for it, others by a daemon thread.
 *
 * <p><b>Deadlines:</b> a request cannot be called back. A transfer that is given up, by its
 * deadline, by an interrupt or by a failure, takes the rails down that have pieces of it, and its
 * memory cannot be closed until they are. Posting and polling have no time of their own: where such
 * a call of a device does not return, only the thread that made it is kept, which may be one that
 * waits for a transfer; whoever else waits is told at most a second after the deadline. A write
 * that was given up may still change the peer's memory for a moment: what is written to the same
 * place at once may be undone by it.
 *
 * <p><b>Cleanup:</b> {@link #close()} is refused while a thread waits for a transfer; transfers
 * nobody waits for fail. A device that is stuck is given five seconds; what it may still use stays
 * allocated, and the close says so with an {@link IllegalStateException}. When the call returns
 * that could not be waited for, all of it is closed without anybody's doing; the {@link RailSet}
 * and the memory of transfers can be closed then, and until then refuse it.
 */
public final class ConnectedRails extends NativeResource {
  /** How long devices may take to give up their queue pairs at the end. */
  private static final Duration CLOSE_LIMIT = Duration.ofSeconds(5);

  private final RailClient client;
  private final RailSet rails;
  private final TransferEngine engine;
  private final RailDriver driver;
  private final RailRecovery recovery;

  /** Where the reads that fence writes put their byte; closed with this. */
  private final RailMemory fence;

  private final RailCounters counters;
  private final RailConnections connections;
  private final RailEvents events;

  /** How long the peer's regions are; empty if that is not known. */
  private final List<Long> regionBytes;

  private ConnectedRails(RailClient client, RailSet rails, RailGeneration first, RailMemory fence) {
    super(rails);
    this.client = client;
    this.rails = rails;
    this.fence = fence;
    this.counters = new RailCounters(rails.size());
    this.regionBytes = List.copyOf(client.terms().regionBytes().get());
    String peer = client.terms().peer();
    this.engine = new TransferEngine(peer, client.rebuilds(), this::failed);
    this.driver = new RailDriver(engine, peer);
    this.connections = new RailConnections(client, rails, fence, engine);
    this.recovery = new RailRecovery(peer, connections);
    this.events = new RailEvents(rails, connections, engine);
    connections.begin(first);
    rails.add(events);
  }

  @MustBeClosed
  @SuppressWarnings("MustBeClosed") // free() closes the fence's memory
  static ConnectedRails connect(RailClient client, RailSet rails, Deadline deadline)
      throws IOException {
    RailMemory fence =
        LocalStep.take(
            client.terms().peer(),
            LocalStep.tooLate("registering memory", "a region on each rail", rails.toString()),
            () -> RailMemory.allocate(rails, rails.size(), VerbsAccess.LOCAL_WRITE),
            deadline,
            RailMemory::close);
    RailGeneration first = null;
    try {
      NavigableSet<Integer> every =
          new TreeSet<>(IntStream.range(0, rails.size()).boxed().toList());
      first = RailGeneration.connect(client.terms(), rails, every, List.of(), deadline);
      return new ConnectedRails(client, rails, first, fence);
    } catch (IOException | RuntimeException | OutOfMemoryError e) {
      if (first != null) {
        first.closeAfter(e);
      }
      Closing.afterFailure(e, List.of(fence));
      throw e;
    }
  }

  /**
   * What the peer offers now.
   *
   * @return its newest records, one each rail
   */
  public ServerFrame offer() {
    return connections.offer();
  }

  /**
   * The stream that the newest handshake was held on, for protocols that go on there.
   *
   * @return the transport; after a rebuild another one, and this one is closed as soon as no rail
   *     is on its connection
   */
  public HandshakeTransport transport() {
    return connections.transport();
  }

  /**
   * How the rails are doing.
   *
   * @return one status a rail, the first rail first
   */
  public List<RailStatus> status() {
    return counters.status(engine.links(), rails.specs());
  }

  /**
   * Takes a rail down as if it had failed: what it has in flight is done again on the others, and
   * it is rebuilt if failed rails are. For a drill, or before work on its cable.
   *
   * @param rail which one, from 0
   * @param why a reason for {@link RailStatus#lastFault()}
   * @throws IndexOutOfBoundsException if there is no such rail
   * @throws IllegalStateException if this is closed, or a call of a device does not return
   */
  public void takeDown(int rail, String why) {
    Objects.requireNonNull(why, "why");
    acquire();
    try {
      engine.with(rail, link -> link.fail(new IllegalStateException(why)));
      driver.wake();
    } finally {
      release();
    }
  }

  /**
   * Reads from the peer's memory.
   *
   * <p><b>Blocking:</b> until the deadline at the latest; interruptible.
   *
   * @param into where the bytes go: memory on these rails, registered for local write
   * @param offset where in it, in bytes
   * @param from where the bytes are
   * @param lengthBytes how many, from 1
   * @param timeout how long it may take
   * @throws RailException if it comes to nothing; some bytes may have arrived
   * @throws InterruptedException if the thread is or was interrupted; the transfer is given up
   * @throws IndexOutOfBoundsException if the range is not inside {@code into}, or not inside the
   *     peer's region where its length is known
   * @throws IllegalArgumentException if the memory is not on these rails
   * @throws IllegalStateException if this or the memory is closed
   */
  public void read(
      RailMemory into, long offset, RailTarget from, long lengthBytes, Duration timeout)
      throws RailException, InterruptedException {
    await(new Order(Direction.READ, into, offset, from, lengthBytes, null), timeout);
  }

  /**
   * Writes to the peer's memory.
   *
   * <p>Returns when the peer's adapter has the bytes; its processor may not see them yet, see
   * {@link #writeFenced}.
   *
   * <p><b>Blocking:</b> until the deadline at the latest; interruptible.
   *
   * @param from where the bytes are: memory on these rails
   * @param offset where in it, in bytes
   * @param to where the bytes go
   * @param lengthBytes how many, from 1
   * @param timeout how long it may take
   * @throws RailException if it comes to nothing; some bytes may have been written
   * @throws InterruptedException if the thread is or was interrupted; the transfer is given up
   * @throws IndexOutOfBoundsException if the range is not inside {@code from}, or not inside the
   *     peer's region where its length is known
   * @throws IllegalArgumentException if the memory is not on these rails
   * @throws IllegalStateException if this or the memory is closed
   */
  public void write(RailMemory from, long offset, RailTarget to, long lengthBytes, Duration timeout)
      throws RailException, InterruptedException {
    await(new Order(Direction.WRITE, from, offset, to, lengthBytes, null), timeout);
  }

  /**
   * Writes to the peer's memory, so that the peer's processor sees the bytes when this returns:
   * every piece is followed by a read of its last byte on the same rail, which cannot overtake it.
   * Needs the right to read there.
   *
   * <p><b>Blocking:</b> until the deadline at the latest; interruptible.
   *
   * @param from where the bytes are: memory on these rails
   * @param offset where in it, in bytes
   * @param to where the bytes go
   * @param lengthBytes how many, from 1
   * @param timeout how long it may take
   * @throws RailException if it comes to nothing; some bytes may have been written
   * @throws InterruptedException if the thread is or was interrupted; the transfer is given up
   */
  public void writeFenced(
      RailMemory from, long offset, RailTarget to, long lengthBytes, Duration timeout)
      throws RailException, InterruptedException {
    await(new Order(Direction.FENCED_WRITE, from, offset, to, lengthBytes, null), timeout);
  }

  /**
   * Begins to read from the peer's memory.
   *
   * @param into where the bytes go: memory on these rails, registered for local write
   * @param offset where in it, in bytes
   * @param from where the bytes are
   * @param lengthBytes how many, from 1
   * @param terms how long it may take, and whom to tell of progress
   * @return the transfer, which goes on by itself
   * @throws IndexOutOfBoundsException if the range is not inside {@code into}, or not inside the
   *     peer's region where its length is known
   * @throws IllegalArgumentException if the memory is not on these rails
   * @throws IllegalStateException if this or the memory is closed
   */
  public RailTransfer readAsync(
      RailMemory into, long offset, RailTarget from, long lengthBytes, TransferTerms terms) {
    return begin(new Order(Direction.READ, into, offset, from, lengthBytes, of(terms)), terms);
  }

  /**
   * Begins to write to the peer's memory.
   *
   * @param from where the bytes are: memory on these rails
   * @param offset where in it, in bytes
   * @param to where the bytes go
   * @param lengthBytes how many, from 1
   * @param terms how long it may take, and whom to tell of progress
   * @return the transfer, which goes on by itself
   * @throws IndexOutOfBoundsException if the range is not inside {@code from}, or not inside the
   *     peer's region where its length is known
   * @throws IllegalArgumentException if the memory is not on these rails
   * @throws IllegalStateException if this or the memory is closed
   */
  public RailTransfer writeAsync(
      RailMemory from, long offset, RailTarget to, long lengthBytes, TransferTerms terms) {
    return begin(new Order(Direction.WRITE, from, offset, to, lengthBytes, of(terms)), terms);
  }

  /**
   * Begins to write to the peer's memory, so that the peer's processor sees the bytes when the
   * transfer is over, as {@link #writeFenced}.
   *
   * @param from where the bytes are: memory on these rails
   * @param offset where in it, in bytes
   * @param to where the bytes go
   * @param lengthBytes how many, from 1
   * @param terms how long it may take, and whom to tell of progress
   * @return the transfer, which goes on by itself
   * @throws IndexOutOfBoundsException if the range is not inside {@code from}, or not inside the
   *     peer's region where its length is known
   * @throws IllegalArgumentException if the memory is not on these rails
   * @throws IllegalStateException if this or the memory is closed
   */
  public RailTransfer writeFencedAsync(
      RailMemory from, long offset, RailTarget to, long lengthBytes, TransferTerms terms) {
    Direction fenced = Direction.FENCED_WRITE;
    return begin(new Order(fenced, from, offset, to, lengthBytes, of(terms)), terms);
  }

  private static LongConsumer of(TransferTerms terms) {
    return terms.progress().orElse(null);
  }

  private RailTransfer begin(Order order, TransferTerms terms) {
    acquire();
    try {
      RailTransfer transfer = submit(order, Deadline.after(terms.timeout()));
      driver.wake();
      return transfer;
    } finally {
      release();
    }
  }

  private void await(Order order, Duration timeout) throws RailException, InterruptedException {
    engine.requireNoStep();
    acquire();
    try {
      RailTransfer transfer = submit(order, Deadline.after(timeout));
      try {
        engine.drive(transfer);
        transfer.result().get();
      } catch (ExecutionException e) {
        // What is left of it in flight is no longer this thread's to drive.
        driver.wake();
        if (e.getCause() instanceof RailException failure) {
          throw failure;
        }
        throw new IllegalStateException(e.getCause());
      } catch (InterruptedException e) {
        driver.wake();
        throw e;
      }
    } finally {
      release();
    }
  }

  private RailTransfer submit(Order order, Deadline deadline) {
    Objects.checkFromIndexSize(order.offset(), order.lengthBytes(), order.memory().lengthBytes());
    if (!order.memory().rails().equals(rails)) {
      throw new IllegalArgumentException(order.memory() + " is not on " + rails);
    }
    RailTarget target = order.target();
    long there =
        regionBytes.isEmpty()
            ? Long.MAX_VALUE
            : regionBytes.get(Objects.checkIndex(target.region(), regionBytes.size()));
    Objects.checkFromIndexSize(target.offset(), order.lengthBytes(), there);
    List<RailLink> links = engine.links();
    long longest = links.stream().mapToLong(RailLink::maxMessageBytes).min().orElse(1);
    StripePlan plan =
        StripePlan.of(order.lengthBytes(), links.size(), client.pieceBytes(), longest);
    order.memory().pin();
    RailTransfer transfer = new RailTransfer(order, plan, deadline);
    engine.submit(transfer);
    return transfer;
  }

  /** A rail has failed; called with the engine's lock held. */
  private void failed(RailLink link) {
    counters.failed(link);
    driver.wake();
    if (client.rebuilds()) {
      recovery.request();
    }
  }

  @Override
  protected void free() {
    rails.remove(events);
    recovery.close();
    Deadline deadline = Deadline.after(CLOSE_LIMIT);
    Ending ending = new Ending(keepNeeds());
    boolean isOver = ending.go(deadline);
    driver.close(deadline);
    connections.hangUp();
    if (!isOver) {
      throw new IllegalStateException(
          this
              + ": a device does not let go of its queue pair, which may still use memory;"
              + " it is closed as soon as the device does");
    }
  }

  /** The end of the rails and then of what they use, once: now, or when a call comes back. */
  private final class Ending {
    private final Runnable letGo;

    Ending(Runnable letGo) {
      this.letGo = letGo;
    }

    /** Whether all of it is over. */
    boolean go(Deadline deadline) {
      if (!engine.close(deadline, () -> go(Deadline.after(CLOSE_LIMIT)))) {
        return false;
      }
      CompletableFuture<?> ended = engine.ended();
      boolean isOver = ended.isDone();
      CompletableFuture<Void> last = ended.thenRun(this::finish);
      if (isOver) {
        BoundedCall.answer(last);
      }
      return isOver;
    }

    private void finish() {
      try {
        fence.close();
      } finally {
        letGo.run();
      }
    }
  }

  @Override
  public String toString() {
    return "connected " + rails + " to " + client.terms().peer();
  }
}
