package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.Allocation;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.verbs.VerbsSharedHost.Link;

/** Shared receive queues of devices that are unlike the usual one, or that fail. */
@Tag("emulator")
@Tag("slow")
@Timeout(60)
final class VerbsSharedUnusualTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final int DEPTH = 16;

  @ParameterizedTest
  @CsvSource({
    "FRUGAL, ibv.devices = 2",
    "FULL, fault = ibverbs.ibv_post_srq_recv call=2 code=12",
    "REFUSED, fault = ibverbs.ibv_post_srq_recv call=2 code=5",
    "SHORT, ibv.max_srq_wr = 3",
    "NONE, ibv.max_srq = 0",
    "ONE, ibv.max_srq = 1",
    "NO_MEMORY, fault = ibverbs.ibv_create_srq call=2 code=12",
    "BROKEN, fault = ibverbs.shared_receive call=2 async=14",
    "UNENDING, fault = ibverbs.ibv_destroy_srq code=16",
    "DEAF, 'fault = ibverbs.ibv_modify_srq code=22; fault = ibverbs.ibv_query_srq code=19'",
    "FORGOTTEN, ibv.devices = 2",
    "HALF_CONNECTED, fault = ibverbs.ibv_modify_qp call=4 code=22",
    "UNUSED, fault = ibverbs.ibv_create_qp call=1 code=5",
  })
  void isMadeTheBestOf(Case what, String configuration, @TempDir Path folder) throws Exception {
    String said =
        SoftwareHost.running(folder, configuration, Probe.class, what.name())
            .run()
            .succeeded()
            .value("done");
    assertEquals(what.name(), said);
  }

  /** What its peers have sent may be lost for want of memory, but not the queue pair itself. */
  @Test
  void aQueuePairIsDestroyedThoughNothingCanBeKept(@TempDir Path folder) throws Exception {
    String said =
        SoftwareHost.running(folder, "ibv.devices = 2", Probe.class, Case.NO_ROOM.name())
            .options("-XX:MaxDirectMemorySize=1m")
            .run()
            .succeeded()
            .value("done");
    assertEquals(Case.NO_ROOM.name(), said);
  }

  /** What is tried. */
  enum Case {
    /** Posting and reaping leave the collector nothing to do. */
    FRUGAL {
      @Override
      void run(VerbsSharedHost host) throws Exception {
        Rounds rounds = new Rounds(host);
        long fewest =
            Allocation.fewest(
                20,
                () -> {
                  for (int i = 0; i < 50; i++) {
                    rounds.run();
                  }
                });
        assertEquals(0, fewest / (50 * DEPTH), "bytes allocated for a request");
      }
    },
    /** It says so before its time: no more than back-pressure. */
    FULL {
      @Override
      void run(VerbsSharedHost host) throws Exception {
        Rounds rounds = new Rounds(host);
        rounds.run();
        rounds.receives.receive(1, host.far, 0, 8);
        assertEquals(0, host.shared.post(rounds.receives));
        assertEquals(0, host.shared.inFlight());
        assertEquals(1, host.shared.post(rounds.receives));
        assertEquals(1, host.shared.inFlight());
      }
    },
    REFUSED {
      @Override
      void run(VerbsSharedHost host) throws Exception {
        Rounds rounds = new Rounds(host);
        rounds.run();
        rounds.receives.receive(1, host.far, 0, 8);
        VerbsException e =
            assertThrows(VerbsException.class, () -> host.shared.post(rounds.receives));
        assertEquals("EIO", e.symbol());
        assertEquals("ibv_post_srq_recv", e.call());
        assertEquals(0, host.shared.inFlight());
        rounds.receives.clear();
        rounds.run();
        assertEquals(0, host.shared.inFlight());
      }
    },
    SHORT {
      @Override
      void run(VerbsSharedHost host) throws Exception {
        assertEquals(3, host.device.limits().sharedReceives());
        assertEquals(3, host.shared.depth());
        new Rounds(host).run(3);
      }
    },
    NONE {
      @Override
      void start() {
        try (VerbsDevice device = VerbsDevice.open(VerbsDevice.list().get(0));
            VerbsProtectionDomain domain = VerbsProtectionDomain.open(device)) {
          assertEquals(0, device.limits().sharedReceiveQueues());
          IllegalStateException e =
              assertThrows(
                  IllegalStateException.class,
                  () -> VerbsSharedReceiveQueue.open(domain, 1).close());
          assertEquals("RDMA device mlx5_0 has no shared receive queues", e.getMessage());
        }
      }
    },
    ONE {
      @Override
      void run(VerbsSharedHost host) {
        assertEquals("ENOMEM", refusal(host).symbol());
        host.shared.close();
        VerbsSharedReceiveQueue.open(host.domain, 1).close();
        VerbsSharedReceiveQueue.open(host.domain, 1).close();
      }
    },
    NO_MEMORY {
      @Override
      void run(VerbsSharedHost host) throws Exception {
        VerbsException e = refusal(host);
        assertTrue(e.getMessage().contains("depth=1"), e::getMessage);
        VerbsSharedReceiveQueue.open(host.domain, 1).close();
      }
    },
    /** The device gives up the queue: that is told, and what is posted lets go with it. */
    BROKEN {
      @Override
      void run(VerbsSharedHost host) throws Exception {
        BlockingQueue<VerbsEvent> told = new LinkedBlockingQueue<>();
        host.keep(VerbsEventListener.open(host.device, told::add));
        Link link = host.join();
        Rounds.post(host, 2);
        link.send(1, ByteBuffer.allocate(8));
        link.send(2, ByteBuffer.allocate(8));
        VerbsEvent event = told.poll(20, TimeUnit.SECONDS);
        assertEquals(VerbsEventType.SHARED_RECEIVE_QUEUE_ERROR, event.type());
        assertEquals(host.shared.number(), event.sharedReceiveQueueNumber());
        VerbsCompletions done = VerbsCompletions.allocate(2);
        assertEquals(1, host.completions.await(done, LIMIT));
        assertEquals(1, host.shared.inFlight());
        link.pair.close();
        host.shared.close();
        host.far.close();
      }
    },
    /** What the device may still use is kept for good. */
    UNENDING {
      @Override
      void start() throws Exception {
        VerbsSharedHost host = new VerbsSharedHost(DEPTH);
        Rounds.post(host, 1);
        VerbsException e = assertThrows(VerbsException.class, host.shared::close);
        assertEquals("ibv_destroy_srq", e.call());
        assertTrue(host.shared.isClosed());
        assertThrows(IllegalStateException.class, host.far::close);
      }
    },
    DEAF {
      @Override
      void run(VerbsSharedHost host) throws Exception {
        VerbsException e = assertThrows(VerbsException.class, () -> host.shared.armLimit(5));
        assertTrue(e.getMessage().contains("limit=5"), e::getMessage);
        assertEquals(
            "ibv_query_srq", assertThrows(VerbsException.class, host.shared::limit).call());
        new Rounds(host).run();
      }
    },
    /** The last step of connecting is refused; the peer can send before that. */
    HALF_CONNECTED {
      @Override
      @SuppressWarnings("MustBeClosed") // the host closes them
      void run(VerbsSharedHost host) throws Exception {
        Rounds.post(host, 1);
        VerbsQueueSettings settings = VerbsSharedHost.SETTINGS;
        VerbsEnd client = host.keep(new VerbsEnd(RdmaDevices.clients().get(0), settings));
        VerbsPreparedQueuePair half =
            host.keep(VerbsPreparedQueuePair.open(host.completions, host.shared, settings, 7));
        VerbsRemote remote =
            new VerbsRemote(half.number(), half.packetNumber(), half.gid().gid(), half.lid());
        VerbsException e =
            assertThrows(VerbsException.class, () -> half.connect(client.remote()).close());
        assertTrue(e.getMessage().contains("to RTS"), e::getMessage);
        client.connect(remote);
        VerbsWorkBatch batch = VerbsWorkBatch.allocate(1, 64);
        batch.sendInline(1, ByteBuffer.allocate(8));
        assertEquals(1, client.pair.post(batch));
        VerbsCompletions done = VerbsCompletions.allocate(1);
        assertEquals(1, client.completions.await(done, LIMIT));
        assertTrue(done.isSuccess(0));
        half.close();
        assertEquals(1, host.completions.await(done, LIMIT));
        assertTrue(done.isSuccess(0) && done.isReceive(0));
        assertEquals(0, host.shared.inFlight());
      }
    },
    /** Queue pairs that come to nothing take no room of the shared queue's with them. */
    UNUSED {
      @Override
      @SuppressWarnings("MustBeClosed") // the host closes them
      void run(VerbsSharedHost host) {
        VerbsQueueSettings settings = VerbsSharedHost.SETTINGS;
        VerbsCompletionQueue queue = host.keep(VerbsCompletionQueue.open(host.device, 40));
        VerbsException e =
            assertThrows(
                VerbsException.class,
                () -> VerbsPreparedQueuePair.open(queue, host.shared, settings, 7).close());
        assertEquals("ibv_create_qp", e.call());
        VerbsPreparedQueuePair.open(queue, host.shared, settings, 7).close();
        VerbsSharedReceiveQueue other = host.keep(VerbsSharedReceiveQueue.open(host.domain, 24));
        host.keep(VerbsPreparedQueuePair.open(queue, other, settings, 7));
        IllegalStateException full =
            assertThrows(
                IllegalStateException.class,
                () -> VerbsPreparedQueuePair.open(queue, host.shared, settings, 7).close());
        assertTrue(full.getMessage().contains("room for 0 more, not for 32"), full::getMessage);
      }
    },
    /** There is no memory left for completions. */
    NO_ROOM {
      @Override
      void run(VerbsSharedHost host) throws Exception {
        Link link = host.join();
        List<ByteBuffer> hoard = new ArrayList<>();
        for (int bytes = 1 << 20; bytes > 0; ) {
          try {
            hoard.add(ByteBuffer.allocateDirect(bytes));
          } catch (OutOfMemoryError full) {
            bytes /= 16;
          }
        }
        assertThrows(OutOfMemoryError.class, link.pair::close);
        assertTrue(link.pair.isClosed());
        assertTrue(!hoard.isEmpty());
      }
    },
    /** Nobody has the region and the queue any more, but the adapter has. */
    FORGOTTEN {
      @Override
      void start() throws Exception {
        Link link;
        WeakReference<ByteBuffer> forgotten;
        VerbsCompletionQueue queue;
        {
          VerbsSharedHost host = new VerbsSharedHost(DEPTH);
          link = host.join();
          queue = host.completions;
          forgotten = forget(host);
        }
        WeakReference<ByteBuffer> free = new WeakReference<>(ByteBuffer.allocateDirect(64));
        while (free.get() != null) {
          System.gc();
          Thread.sleep(1);
        }
        link.send(1, ByteBuffer.allocate(8).putLong(0, 42));
        VerbsCompletions done = VerbsCompletions.allocate(1);
        assertEquals(1, queue.await(done, LIMIT));
        assertTrue(done.isSuccess(0));
        assertEquals(42, forgotten.get().getLong(0));
      }

      @SuppressWarnings("MustBeClosed") // It is not, on purpose.
      private WeakReference<ByteBuffer> forget(VerbsSharedHost host) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(64);
        VerbsMemoryRegion region =
            VerbsMemoryRegion.of(host.domain, buffer, VerbsAccess.LOCAL_WRITE);
        VerbsReceiveBatch batch = VerbsReceiveBatch.allocate(1);
        batch.receive(1, region, 0, 64);
        assertEquals(1, host.shared.post(batch));
        return new WeakReference<>(buffer);
      }
    };

    void start() throws Exception {
      try (VerbsSharedHost host = new VerbsSharedHost(DEPTH)) {
        run(host);
      }
    }

    void run(VerbsSharedHost host) throws Exception {
      throw new AssertionError(this + " has nothing to run on " + host);
    }

    private static VerbsException refusal(VerbsSharedHost host) {
      return assertThrows(
          VerbsException.class, () -> VerbsSharedReceiveQueue.open(host.domain, 1).close());
    }
  }

  /** Messages to two queue pairs by turns, each received and looked at. */
  private static final class Rounds {
    final VerbsReceiveBatch receives = VerbsReceiveBatch.allocate(DEPTH);
    private final VerbsCompletions done = VerbsCompletions.allocate(DEPTH);
    private final ByteBuffer data = ByteBuffer.allocate(8);
    private final VerbsSharedHost host;
    private final Link[] links;

    Rounds(VerbsSharedHost host) {
      this.host = host;
      this.links = new Link[] {host.join(), host.join()};
    }

    static void post(VerbsSharedHost host, int count) {
      VerbsReceiveBatch batch = VerbsReceiveBatch.allocate(count);
      for (int i = 0; i < count; i++) {
        batch.receive(i, host.far, 8L * i, 8);
      }
      assertEquals(count, host.shared.post(batch));
    }

    void run() throws InterruptedException {
      run(DEPTH);
    }

    void run(int messages) throws InterruptedException {
      for (int i = 0; i < messages; i++) {
        receives.receive(i, host.far, 8L * i, 8);
      }
      assertEquals(messages, host.shared.post(receives));
      for (int i = 0; i < messages; i++) {
        links[i & 1].send(i, data.clear());
      }
      long seen = 0;
      for (int left = messages; left > 0; ) {
        int count = host.completions.poll(done, LIMIT);
        for (int i = 0; i < count; i++) {
          if (!done.isSuccess(i) || !done.isReceive(i)) {
            throw new AssertionError(done.workId(i) + " was not received");
          }
          seen |= 1L << done.workId(i);
        }
        left -= count;
      }
      assertEquals((1L << messages) - 1, seen);
      for (int i = 0; i < messages; ) {
        i += links[0].client.completions.poll(done, Duration.ZERO);
        i += links[1].client.completions.poll(done, Duration.ZERO);
      }
    }
  }

  /** Runs one case. */
  static final class Probe {
    private Probe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      Case.valueOf(arguments[0]).start();
      System.out.println("done=" + arguments[0]);
    }
  }
}
