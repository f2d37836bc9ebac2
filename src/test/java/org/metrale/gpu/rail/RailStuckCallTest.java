package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.rail.RailException.Reason;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.verbs.VerbsEventType;
import org.metrale.gpu.wire.RailDialect;

/** Calls of the data path that never return, on the software GPU host. */
@Tag("emulator")
@Tag("full")
@Timeout(60)
final class RailStuckCallTest {
  /** Whoever is not in the call itself is told at the deadline, and can close. */
  @ParameterizedTest
  @CsvSource({
    "ibv_post_send call=2, false",
    "ibv_poll_cq call=9, false",
    "ibv_post_send call=2, true",
    "ibv_poll_cq call=9, true",
  })
  void holdUpNobodyElse(String call, boolean blocking, @TempDir Path folder) throws Exception {
    ForkedJvm.Result said =
        SoftwareHost.running(
                folder,
                "fault = ibverbs." + call + " device=1 hang",
                Probe.class,
                String.valueOf(blocking))
            .run()
            .succeeded();
    assertEquals("DEADLINE_PASSED", said.value("first"), said::toString);
    assertTrue(said.value("why").contains("has not returned for"), said::toString);
    assertEquals("DEADLINE_PASSED", said.value("stage"), said::toString);
    assertEquals("DEADLINE_PASSED", said.value("read"), said::toString);
    assertEquals("2", said.value("rails"), said::toString);
    String close = blocking ? "has 1 calls running" : "does not let go";
    assertTrue(said.value("close").contains(close), said::toString);
  }

  /** The look for the address that an event asks for. */
  @Test
  void holdsUpNoOtherEvent(@TempDir Path folder) throws Exception {
    ForkedJvm.Result said =
        SoftwareHost.running(
                folder,
                "ibv.at = 8000 fault = ibverbs.ibv_query_port device=1 hang; "
                    + "ibv.at = 8000 ibv.1.gids = v2 10.20.1.77 7; "
                    + "ibv.at = 9000 ibv.1.state = fatal",
                EventProbe.class)
            .run()
            .succeeded();
    assertEquals("true", said.value("both"), said::toString);
  }

  /** Waits for what a device tells. */
  static final class EventProbe {
    private EventProbe() {}

    /** Runs it. */
    @SuppressWarnings("MustBeClosed") // what a stuck device has cannot be closed
    public static void main(String[] arguments) throws Exception {
      RailHost host =
          new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), 64, RailDialect.READ_ONLY);
      RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()), Duration.ofHours(1));
      BlockingQueue<VerbsEventType> told = new LinkedBlockingQueue<>();
      ConnectedRails connected = host.client().connect(rails, RailHost.LIMIT);
      rails.add((rail, event) -> told.add(event.type()));
      VerbsEventType first = told.take();
      VerbsEventType second = told.take();
      System.out.println(first + ", then " + second);
      boolean isChange = first.equals(VerbsEventType.GID_CHANGE);
      System.out.println("both=" + (isChange && second.equals(VerbsEventType.DEVICE_FATAL)));
      assertFalse(connected.isClosed());
    }
  }

  /** Has a thread kept by a call, and does everything else that there is to do with the rails. */
  static final class Probe {
    private static final int BYTES = 4 << 20;
    private static final Duration BRIEF = Duration.ofSeconds(1);
    private static final RailTarget START = new RailTarget(0, 0);

    private Probe() {}

    /** Runs it. */
    @SuppressWarnings("MustBeClosed") // what a stuck device has cannot be closed
    public static void main(String[] arguments) throws Exception {
      try (PeerProcess peer = PeerProcess.withSoundDevices(BYTES)) {
        RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected =
            peer.client().inPiecesOf(64 << 10).connect(rails, RailHost.LIMIT);
        if (Boolean.parseBoolean(arguments[0])) {
          Thread kept = new Thread(() -> readForEver(connected, memory), "kept");
          kept.setDaemon(true);
          kept.start();
          while (!isInCall(kept)) {
            Thread.sleep(1);
          }
        }
        RailException first = failure(connected, memory);
        System.out.println("first=" + first.reason());
        System.out.println("why=" + first.getMessage());
        System.out.println("stage=" + failure(connected, memory).reason());
        System.out.println(
            "read="
                + assertThrows(
                        RailException.class, () -> connected.read(memory, 0, START, BYTES, BRIEF))
                    .reason());
        System.out.println("rails=" + connected.status().size());
        System.out.println(
            "close=" + assertThrows(IllegalStateException.class, connected::close).getMessage());
      }
    }

    /** Of the first transfer that fails: how many calls one takes is up to the processor. */
    private static RailException failure(ConnectedRails connected, RailMemory memory)
        throws InterruptedException, TimeoutException {
      while (true) {
        RailTransfer transfer =
            connected.readAsync(memory, 0, START, BYTES, TransferTerms.within(BRIEF));
        try {
          transfer.stage().toCompletableFuture().get(20, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
          RailException failure = assertInstanceOf(RailException.class, e.getCause());
          assertEquals(Reason.DEADLINE_PASSED, failure.reason());
          return failure;
        }
      }
    }

    private static void readForEver(ConnectedRails connected, RailMemory memory) {
      try {
        while (true) {
          connected.read(memory, 0, START, BYTES, Duration.ofHours(1));
        }
      } catch (RailException | InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }

    private static boolean isInCall(Thread thread) {
      StackTraceElement[] stack = thread.getStackTrace();
      return stack.length > 0 && stack[0].isNativeMethod() && hasStayed(thread);
    }

    private static boolean hasStayed(Thread thread) {
      StackTraceElement[] before = thread.getStackTrace();
      try {
        Thread.sleep(300);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
      return java.util.Arrays.equals(before, thread.getStackTrace());
    }
  }
}
