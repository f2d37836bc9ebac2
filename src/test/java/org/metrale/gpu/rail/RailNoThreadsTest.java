package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.NoThreads;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.wire.RailDialect;

/**
 * Both sides of rails in a process that runs out of threads, at any of those that they ask for, on
 * a software GPU host whose devices have room for no more than that takes: whatever is left of one
 * connection is missed by the next.
 */
@Tag("emulator")
@Tag("full")
@Timeout(120)
final class RailNoThreadsTest {
  /** Which threads are not to be had. */
  enum Shortage {
    /** One that is asked for, and the next is. */
    ONE {
      @Override
      Predicate<Thread> from(int first) {
        AtomicInteger asked = new AtomicInteger();
        return thread -> asked.incrementAndGet() == first;
      }
    },
    /** All from one on. */
    ALL {
      @Override
      Predicate<Thread> from(int first) {
        AtomicInteger asked = new AtomicInteger();
        return thread -> asked.incrementAndGet() >= first;
      }
    };

    abstract Predicate<Thread> from(int first);
  }

  @ParameterizedTest
  @EnumSource
  void nothingIsLeftWhereverAThreadIsNotToBeHad(Shortage shortage, @TempDir Path folder)
      throws Exception {
    // A device is at both ends: a queue pair each, and the server's of a rail that is rebuilt while
    // another stays on its connection; arena, memory and fence.
    String limits = "ibv.max_qp = 3; ibv.max_cq = 3; ibv.max_pd = 2; ibv.max_mr = 3";
    ForkedJvm.Result said =
        SoftwareHost.running(folder, limits, Probe.class, shortage.name()).run().succeeded();
    assertEquals("", said.value("wrong"), said::toString);
    assertTrue(Integer.parseInt(said.value("failed")) > 2, said::toString);
    assertTrue(Integer.parseInt(said.value("asked")) > 5, said::toString);
  }

  /** Connects, reads, loses a rail, gets it back and closes; once for each thread of that. */
  static final class Probe {
    private static final int BYTES = 1 << 20;
    private static final RailTarget START = new RailTarget(0, 0);
    private static final Duration BRIEF = Duration.ofSeconds(3);

    private Probe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      Shortage shortage = Shortage.valueOf(arguments[0]);
      int failed = 0;
      int first = 0;
      long denied;
      String wrong = "";
      try (RailHost host =
          new RailHost(
              RdmaDevices.servers(), RdmaDevices.clients(), BYTES, RailDialect.READ_ONLY)) {
        host.arena.write(0, RailHost.bytes(5, BYTES));
        RailMemory memory = host.memory(BYTES);
        do {
          first++;
          untilThreadsHaveEnded();
          try (NoThreads none = NoThreads.of(shortage.from(first))) {
            failed += use(host, memory) ? 0 : 1;
            denied = none.denied();
          }
          while (host.server.clients() > 0) {
            Thread.sleep(1);
          }
          wrong += check(host, memory);
        } while (denied > 0 && wrong.isEmpty());
      }
      System.out.println("wrong=" + wrong);
      System.out.println("failed=" + failed);
      System.out.println("asked=" + first);
    }

    /** Threads that are idle would be used instead of new ones. */
    private static void untilThreadsHaveEnded() throws InterruptedException {
      while (Thread.getAllStackTraces().keySet().stream()
          .anyMatch(
              thread ->
                  thread.getName().startsWith("metrale-call-")
                      || thread.getName().equals("metrale-rail-timer"))) {
        Thread.sleep(10);
      }
    }

    /** Everything that asks for threads; whether all of it was done. */
    private static boolean use(RailHost host, RailMemory memory) throws InterruptedException {
      RailClient client = host.client().rebuilding(true).inPiecesOf(64 << 10);
      try (ConnectedRails rails = client.connect(host.clientRails, BRIEF)) {
        rails.takeDown(1, "a drill");
        rails.read(memory, 0, START, BYTES, BRIEF);
        rails
            .readAsync(memory, 0, START, BYTES, TransferTerms.within(BRIEF))
            .stage()
            .toCompletableFuture()
            .get();
        return true;
      } catch (IOException | ExecutionException | OutOfMemoryError e) {
        return false;
      }
    }

    /** Once more, with all the threads that it takes. */
    private static String check(RailHost host, RailMemory memory) throws Exception {
      RailPeer.poison(memory, BYTES);
      try (ConnectedRails rails =
          host.client().rebuilding(true).connect(host.clientRails, RailHost.LIMIT)) {
        rails.takeDown(0, "another drill");
        RailTakeDownCases.untilActive(rails);
        rails.read(memory, 0, START, BYTES, RailHost.LIMIT);
      }
      return RailHost.bytes(5, BYTES).equals(RailHost.read(memory, 0, BYTES)) ? "" : "bytes ";
    }
  }
}
