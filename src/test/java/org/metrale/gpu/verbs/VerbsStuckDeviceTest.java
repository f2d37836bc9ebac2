package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.FutureTask;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.SoftwareHost;

/**
 * Devices that never answer, or long after their time, on the software GPU host: no call waits for
 * them longer than it may, and nothing is lost that comes late.
 */
@Tag("emulator")
@Tag("slow")
@Timeout(120)
final class VerbsStuckDeviceTest {
  private static final Duration SHORT = Duration.ofMillis(400);

  @TempDir Path folder;

  private ForkedJvm.Result run(String fault, Class<?> probe, String... arguments) throws Exception {
    return SoftwareHost.running(folder, "fault = ibverbs." + fault, probe, arguments)
        .run()
        .succeeded();
  }

  @ParameterizedTest
  @CsvSource({
    "ibv_get_device_list hang, ibv_get_device_list",
    "ibv_get_device_list call=2 hang, ibv_open_device",
    "ibv_open_device hang, ibv_open_device",
    "ibv_query_device hang, ibv_query_device",
    "ibv_query_device call=2 hang, ibv_query_port",
    "ibv_query_port hang, ibv_query_port",
    "ibv_query_gid_ex hang, ibv_query_port",
    "ibv_alloc_pd hang, ibv_alloc_pd",
    "ibv_create_comp_channel hang, ibv_create_cq",
    "ibv_create_cq hang, ibv_create_cq",
    "ibv_reg_mr hang, ibv_reg_mr",
    "ibv_create_srq hang, ibv_create_srq",
    "ibv_modify_srq hang, ibv_modify_srq",
    "ibv_query_srq hang, ibv_query_srq",
    "ibv_create_qp hang, ibv_create_qp",
    "ibv_modify_qp call=1 hang, ibv_create_qp",
    "ibv_modify_qp call=2 hang, ibv_modify_qp",
    "ibv_modify_qp call=3 hang, ibv_modify_qp",
    "ibv_modify_qp call=4 hang, ibv_modify_qp",
  })
  void aCallThatNeverReturnsIsGivenUp(String fault, String call) throws Exception {
    ForkedJvm.Result said = run(fault, Probe.class);
    assertEquals(call, said.value("failed"), said::toString);
  }

  /** What cannot be destroyed keeps everything below it, and no thread of the program's. */
  @ParameterizedTest
  @CsvSource({
    "ibv_destroy_qp, 2",
    "ibv_destroy_srq, 1",
    "ibv_dereg_mr, 1",
    "ibv_destroy_cq, 0",
    "ibv_destroy_comp_channel, 0",
    "ibv_dealloc_pd, 0",
    "ibv_close_device, 0",
  })
  void aCallThatNeverReturnsHoldsUpNoClose(String call, int alsoOpen) throws Exception {
    ForkedJvm.Result said = run(call + " hang", Probe.class);
    assertEquals("none", said.value("failed"), said::toString);
    assertEquals(1, said.values("unfinished").size(), said::toString);
    assertTrue(said.values("refused").size() >= alsoOpen, said::toString);
  }

  /** Makes one of everything, says which call did not return, and closes what there is. */
  static final class Probe {
    private Probe() {}

    /** Runs it. */
    public static void main(String[] arguments) {
      Deque<NativeResource> open = new ArrayDeque<>();
      String failed = "none";
      try {
        make(open);
      } catch (VerbsException e) {
        assertTrue(e.isUnfinished(), e::toString);
        assertEquals("ETIMEDOUT", e.symbol());
        failed = e.call();
      }
      System.out.println("failed=" + failed);
      while (!open.isEmpty()) {
        close(open.pop());
      }
    }

    @SuppressWarnings("MustBeClosed") // main does
    private static void make(Deque<NativeResource> open) {
      String name = VerbsDevice.list(SHORT).get(0);
      VerbsDevice device = VerbsDevice.open(name, SHORT);
      open.push(device);
      assertEquals(SHORT, device.callTimeout());
      assertTrue(device.limits().workRequests() > 0);
      assertEquals(1, device.ports().size());
      assertTrue(!device.isSoftRoce());
      VerbsProtectionDomain domain = VerbsProtectionDomain.open(device);
      open.push(domain);
      VerbsCompletionQueue queue = VerbsCompletionQueue.open(device, 8);
      open.push(queue);
      open.push(VerbsMemoryRegion.allocate(domain, 4096, VerbsAccess.LOCAL_WRITE));
      VerbsSharedReceiveQueue shared = VerbsSharedReceiveQueue.open(domain, 8);
      open.push(shared);
      shared.armLimit(5);
      assertEquals(5, shared.limit());
      VerbsPreparedQueuePair prepared =
          VerbsPreparedQueuePair.open(
              domain,
              queue,
              new VerbsQueueSettings(4, VerbsAccess.LOCAL_READ, VerbsPath.DEFAULT),
              1);
      open.push(prepared);
      VerbsQueuePair pair =
          prepared.connect(
              new VerbsRemote(prepared.number(), 1, prepared.gid().gid(), prepared.lid()));
      open.push(pair);
      pair.abort();
    }

    private static void close(NativeResource resource) {
      try {
        resource.close();
      } catch (VerbsException e) {
        System.out.println(e.isUnfinished() ? "unfinished=" + e.call() : "refused=" + e);
      } catch (IllegalStateException e) {
        System.out.println("refused=" + e.getMessage());
      }
    }
  }

  /** What comes after its time is closed again: there is room for no second one. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "ibv_open_device call=1",
        "ibv_query_device call=1",
        "ibv_alloc_pd call=1",
        "ibv_create_cq call=1",
        "ibv_reg_mr call=1",
        "ibv_create_srq call=1",
        "ibv_modify_srq call=1",
        "ibv_query_srq call=1",
        "ibv_create_qp call=1",
        "ibv_modify_qp call=1",
        "ibv_modify_qp call=2",
      })
  void whatComesTooLateIsClosed(String call) throws Exception {
    String limits =
        "ibv.max_pd = 1; ibv.max_cq = 1; ibv.max_mr = 1; ibv.max_qp = 1; ibv.max_srq = 1; ";
    ForkedJvm.Result said =
        SoftwareHost.running(
                folder, limits + "fault = ibverbs." + call + " block=1500", LateProbe.class)
            .run()
            .succeeded();
    assertTrue(said.value("closed").startsWith("ibv_"), said::toString);
  }

  /** Makes one of everything, closes what there is when it can be, and does it again. */
  static final class LateProbe {
    private LateProbe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      Deque<NativeResource> open = new ArrayDeque<>();
      assertTrue(!VerbsDevice.list().isEmpty());
      long before = contexts();
      VerbsException e = assertThrows(VerbsException.class, () -> Probe.make(open));
      assertTrue(e.isUnfinished(), e::toString);
      closeAll(open);
      boolean made = false;
      while (!made) {
        try {
          Probe.make(open);
          made = true;
        } catch (VerbsException full) {
          assertEquals("ENOMEM", full.symbol());
          Thread.sleep(10);
        }
        closeAll(open);
      }
      while (contexts() != before) {
        Thread.sleep(10);
      }
      System.out.println("closed=" + e.call());
    }

    /** Each open device has such a descriptor. */
    private static long contexts() throws IOException {
      try (Stream<Path> all = Files.list(Path.of("/proc/self/fd"))) {
        return all.filter(LateProbe::isEvents).count();
      }
    }

    private static boolean isEvents(Path descriptor) {
      try {
        return Files.readSymbolicLink(descriptor).toString().equals("anon_inode:[eventfd]");
      } catch (IOException e) {
        return false; // it was the listing's own
      }
    }

    private static void closeAll(Deque<NativeResource> open) throws InterruptedException {
      while (!open.isEmpty()) {
        NativeResource next = open.pop();
        while (!next.isClosed()) {
          try {
            next.close();
          } catch (IllegalStateException waits) {
            Thread.sleep(10);
          }
        }
      }
    }
  }

  /** Whether or not it got as far as being connected. */
  @ParameterizedTest
  @ValueSource(strings = {"", "ibv_modify_qp call=4 code=22; fault = ibverbs."})
  void nothingComesOfAQueuePairThatIsJustBeingDestroyed(String half) throws Exception {
    ForkedJvm.Result said = run(half + "ibv_destroy_qp call=1 hang", EndingProbe.class);
    assertEquals(half.isEmpty() ? "none" : "ibv_modify_qp", said.value("failed"), said::toString);
    assertEquals("0", said.value("came"), said::toString);
  }

  /** Takes a completion when the destruction of its queue pair hangs. */
  static final class EndingProbe {
    private static final VerbsQueueSettings SETTINGS = VerbsSharedHost.SETTINGS.withReceives(1);

    private EndingProbe() {}

    /** Runs it. */
    @SuppressWarnings("MustBeClosed") // what a stuck device has cannot be closed
    public static void main(String[] arguments) throws Exception {
      VerbsEnd client = new VerbsEnd(VerbsDevice.list().get(0), SETTINGS);
      VerbsDevice device = VerbsDevice.open(VerbsDevice.list().get(1), SHORT);
      VerbsProtectionDomain domain = VerbsProtectionDomain.open(device);
      VerbsCompletionQueue queue = VerbsCompletionQueue.open(device, 64);
      VerbsPreparedQueuePair prepared = VerbsPreparedQueuePair.open(domain, queue, SETTINGS, 7);
      VerbsReceiveBatch receives = VerbsReceiveBatch.allocate(1);
      receives.receive(1, VerbsMemoryRegion.allocate(domain, 64, VerbsAccess.LOCAL_WRITE), 0, 64);
      assertEquals(1, prepared.post(receives));
      VerbsRemote remote =
          new VerbsRemote(prepared.number(), 7, prepared.gid().gid(), prepared.lid());
      NativeResource pair = prepared;
      String failed = "none";
      try {
        pair = prepared.connect(client.remote());
      } catch (VerbsException e) {
        failed = e.call();
      }
      System.out.println("failed=" + failed);
      client.connect(remote);
      VerbsWorkBatch sends = VerbsWorkBatch.allocate(1, 64);
      sends.sendInline(1, ByteBuffer.allocate(8));
      assertEquals(1, client.pair.post(sends));
      VerbsCompletions done = VerbsCompletions.allocate(1);
      assertEquals(1, client.completions.await(done, Duration.ofSeconds(20)));
      assertTrue(done.isSuccess(0));
      VerbsException e = assertThrows(VerbsException.class, pair::close);
      assertTrue(e.isUnfinished(), e::toString);
      System.out.println("came=" + queue.pollOnce(done));
    }
  }

  /** A call that still runs on the one cannot cost the other, which nobody would have. */
  @Test
  void aQueuePairIsConnectedThoughAPostOfAnotherThreadHangs() throws Exception {
    ForkedJvm.Result said = run("ibv_post_recv call=1 block=6000", PostingProbe.class);
    assertEquals("true", said.value("closed"), said::toString);
  }

  /** Connects while another thread posts. */
  static final class PostingProbe {
    private PostingProbe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      VerbsQueueSettings settings = VerbsSharedHost.SETTINGS.withReceives(1);
      try (VerbsEnd client = new VerbsEnd(VerbsDevice.list().get(0), settings);
          VerbsEnd server = new VerbsEnd(VerbsDevice.list().get(1), settings)) {
        VerbsMemoryRegion memory = server.memory(64, VerbsAccess.LOCAL_WRITE);
        VerbsReceiveBatch receives = VerbsReceiveBatch.allocate(1);
        receives.receive(1, memory, 0, 64);
        FutureTask<Integer> posting = new FutureTask<>(() -> server.prepared.post(receives));
        new Thread(posting).start();
        while (server.prepared.ledgers().awaitIdle()) {
          Thread.onSpinWait();
        }
        server.connect(client.remote());
        assertEquals(1, posting.get());
        server.prepared.close();
        System.out.println("closed=" + server.prepared.isClosed());
      }
    }
  }

  /** A device that hangs must not take a thread for every question. */
  @Test
  void aStuckDeviceIsNotAskedForEver() throws Exception {
    ForkedJvm.Result said = run("ibv_query_device hang", AskingProbe.class);
    assertEquals("16", said.value("unfinished"), said::toString);
    assertTrue(said.value("last").contains("not called"), said::toString);
  }

  /** Nor one that is not even open, or the kernel for its list. */
  @ParameterizedTest
  @ValueSource(strings = {"ibv_get_device_list", "ibv_open_device"})
  void whatHangsBeforeADeviceIsOpenIsNotAskedForEver(String call) throws Exception {
    ForkedJvm.Result said = run(call + " hang", OpeningProbe.class, call);
    assertTrue(said.value("last").contains("not called"), said::toString);
    assertEquals("16", said.value("threads"), said::toString);
  }

  /** Lists or opens more often than there are threads for it. */
  static final class OpeningProbe {
    private OpeningProbe() {}

    /** Runs it. */
    public static void main(String[] arguments) {
      Duration moment = Duration.ofMillis(20);
      String last = "";
      for (int i = 0; i < VerbsCallers.MOST_LATE + 4; i++) {
        VerbsException e =
            assertThrows(
                VerbsException.class,
                () -> {
                  if (arguments[0].equals("ibv_get_device_list")) {
                    VerbsDevice.list(moment);
                  } else {
                    VerbsDevice.open("mlx5_0", moment).close();
                  }
                });
        last = e.getMessage();
      }
      System.out.println("last=" + last);
      System.out.println(
          "threads="
              + Thread.getAllStackTraces().keySet().stream()
                  .filter(thread -> thread.getName().startsWith("metrale-call-"))
                  .count());
    }
  }

  /** Asks a stuck device more often than it has threads. */
  static final class AskingProbe {
    private AskingProbe() {}

    /** Runs it. */
    @SuppressWarnings("MustBeClosed") // cannot be closed while it is asked
    public static void main(String[] arguments) {
      VerbsDevice device = VerbsDevice.open(VerbsDevice.list().get(0), Duration.ofMillis(20));
      VerbsException last = null;
      for (int i = 0; i < VerbsCallers.MOST_LATE + 1; i++) {
        last = assertThrows(VerbsException.class, device::limits);
      }
      System.out.println("last=" + last.getMessage());
      System.out.println("unfinished=" + device.unfinishedCalls());
      assertThrows(IllegalStateException.class, device::close);
    }
  }
}
