package org.metrale.tools;

import java.io.PrintWriter;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.rail.ConnectedRails;
import org.metrale.gpu.rail.RailException;
import org.metrale.gpu.rail.RailMemory;
import org.metrale.gpu.rail.RailStatus;
import org.metrale.gpu.rail.RailTarget;
import org.metrale.gpu.rail.RailTransfer;
import org.metrale.gpu.rail.TransferTerms;

/** Transfers over two rails, each checked, while one rail is cut and comes back. */
final class DemoRails {
  private static final RailTarget START = new RailTarget(0, 0);

  /** The rail that is cut. */
  private static final int CUT = 1;

  /** How long it may take until the cut was met, and then until the rail is back. */
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final ConnectedRails connected;
  private final RailMemory memory;
  private final DemoRailPeer peer;
  private final Duration deadline;
  private final TextTable table =
      new TextTable("transfer", "size", "time", "rate", "rail 0", "rail 1", "CRC-32C");
  private boolean right = true;

  DemoRails(RailSession session, DemoRailPeer peer, Duration deadline) {
    this.connected = session.connected();
    this.memory = session.memory();
    this.peer = peer;
    this.deadline = deadline;
  }

  /** One transfer of everything. */
  @FunctionalInterface
  private interface Transfer {
    void run() throws RailException, ToolException, InterruptedException;
  }

  /**
   * Runs all of it and prints the table; false if anything was not right.
   *
   * @param cutsItself whether the rail fails without being told to
   */
  boolean run(boolean cutsItself, PrintWriter out) throws ToolException, InterruptedException {
    step("READ", this::read);
    DemoRailPeerCommand.fill(memory, 2);
    step("WRITE", () -> connected.writeFenced(memory, 0, START, memory.lengthBytes(), deadline));
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (right && cut().failures() == 0) {
      require(System.nanoTime() < end, "no rail was cut");
      table.drop("READ, rail 1 cut");
      step("READ, rail 1 cut", cutsItself ? this::read : this::readAndCut);
    }
    String fault = cut().lastFault();
    long cutAt = System.nanoTime();
    long carried = cut().carriedBytes();
    end = cutAt + PATIENCE.toNanos();
    while (right && (cut().state() != RailStatus.State.ACTIVE || cut().carriedBytes() <= carried)) {
      require(System.nanoTime() < end, "the rail that was cut did not come back");
      table.drop("READ, rail 1 back");
      step("READ, rail 1 back", this::read);
    }
    out.printf(
        "rail 1 was cut in the middle of a READ (%s); it carried again %s later%n%n",
        Messages.brief(fault), Quantities.nanos(System.nanoTime() - cutAt));
    table.lines().forEach(out::println);
    out.println();
    out.flush();
    return right && connected.status().get(0).failures() == 0;
  }

  private RailStatus cut() {
    return connected.status().get(CUT);
  }

  private static void require(boolean condition, String otherwise) throws ToolException {
    if (!condition) {
      throw new ToolException(otherwise + " in " + PATIENCE.toSeconds() + " s");
    }
  }

  private void read() throws RailException, InterruptedException {
    connected.read(memory, 0, START, memory.lengthBytes(), deadline);
  }

  /** A read, some way into which the rail is taken down. */
  private void readAndCut() throws ToolException, InterruptedException {
    long bytes = memory.lengthBytes();
    RailTransfer transfer =
        connected.readAsync(memory, 0, START, bytes, TransferTerms.within(deadline));
    while (!transfer.isDone() && transfer.doneBytes() < bytes / 4) {
      Thread.onSpinWait();
    }
    if (!transfer.isDone()) {
      connected.takeDown(CUT, "taken down for the demonstration");
    }
    try {
      transfer.stage().toCompletableFuture().get(2 * deadline.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new ToolException("a READ with one rail cut failed: " + e.getMessage(), e);
    }
  }

  /** Runs one, compares both sides' bytes and adds a line to the table. */
  private void step(String title, Transfer transfer) throws ToolException, InterruptedException {
    if (title.startsWith("READ")) {
      DemoRailPeerCommand.fill(memory, 0); // what is not read anew is wrong
    }
    List<RailStatus> before = connected.status();
    long start = System.nanoTime();
    try {
      transfer.run();
    } catch (RailException e) {
      throw new ToolException(title + ": " + e.getMessage(), e);
    }
    long nanos = System.nanoTime() - start;
    List<RailStatus> after = connected.status();
    String mine = Checksum.text(DemoRailPeerCommand.crc32c(memory));
    String theirs = peer.sum();
    right &= mine.equals(theirs);
    table.row(
        title,
        Quantities.bytes(memory.lengthBytes()),
        Quantities.nanos(nanos),
        Quantities.bandwidth(memory.lengthBytes() * 1e9 / nanos),
        carried(before, after, 0),
        carried(before, after, 1),
        mine.equals(theirs) ? mine + " right" : "WRONG: " + mine + ", the peer has " + theirs);
  }

  private static String carried(List<RailStatus> before, List<RailStatus> after, int rail) {
    return Quantities.bytes(after.get(rail).carriedBytes() - before.get(rail).carriedBytes());
  }
}
