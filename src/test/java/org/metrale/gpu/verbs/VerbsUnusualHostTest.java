package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.Allocation;
import org.metrale.gpu.SoftwareHost;

/** Devices that are unlike the usual one, and devices that do not do as they should. */
@Tag("emulator")
@Tag("slow")
@Timeout(60)
final class VerbsUnusualHostTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);
  private static final int BYTES = 10_000;
  private static final int RECEIVES = 16;

  @ParameterizedTest
  @CsvSource({
    "INFINIBAND, ibv.kind = infiniband",
    "SECOND_PORT, ibv.ports = 2",
    "SECOND_PORT, 'ibv.kind = infiniband; ibv.ports = 2'",
    "SMALL, 'ibv.max_qp_wr = 4; ibv.max_cqe = 16; ibv.max_rd_atomic = 1'",
    "UNEQUAL_PACKETS, ibv.1.mtu = 1024",
    "FULL_QUEUE, fault = ibverbs.ibv_post_send device=0 call=2 code=12",
    "NEW_ADDRESS, ibv.at = 1500 ibv.0.gids = v2 10.9.8.7 eth7",
    "PARTLY_UNREADABLE, fault = ibverbs.ibv_query_gid_ex call=3 code=5",
    "FORGOTTEN_MEMORY, ibv.devices = 2",
    "RESTING, ibv.devices = 2",
    "FRUGAL, ibv.devices = 2",
    "FRUGAL_MESSAGES, ibv.devices = 2",
    "FULL_RECEIVES, fault = ibverbs.ibv_post_recv device=1 call=2 code=12",
    "LITTLE_INLINE, ibv.max_inline_bytes = 20",
    "FORKS, ibv.devices = 2",
    "LATE_FORKS, fault = ibverbs.ibv_fork_init code=22",
    "LOCKED_MEMORY, ibv.memlock = 100000",
  })
  void isMadeTheBestOf(Case what, String configuration, @TempDir Path folder) throws Exception {
    Path file =
        Files.write(folder.resolve("emulator.conf"), List.of(configuration.split("; ", -1)));
    String said =
        SoftwareHost.running(Probe.class, what.name())
            .environment("METRALE_EMULATOR_CONFIG", file)
            .run()
            .succeeded()
            .value("done");
    assertEquals(what.name(), said);
  }

  /** What is tried. */
  enum Case {
    INFINIBAND {
      @Override
      void run() throws Exception {
        try (Two two = new Two(VerbsPath.DEFAULT)) {
          assertTrue(two.client.prepared.lid() != 0);
          two.move(BYTES);
        }
      }
    },
    SECOND_PORT {
      @Override
      void run() throws Exception {
        VerbsPath second = VerbsPath.DEFAULT.from(2, VerbsPath.CHOOSE_GID).withService(3, 104);
        try (Two two = new Two(second)) {
          two.move(BYTES);
          assertEquals(2, two.client.device.ports().size());
        }
      }
    },
    SMALL {
      @Override
      void run() throws Exception {
        try (Two two = new Two(VerbsPath.DEFAULT, 16)) {
          assertEquals(4, two.client.pair.depth());
          two.move(BYTES);
          two.moveMany(64);
        }
      }
    },
    /** Which the two cannot tell each other, but their users can. */
    UNEQUAL_PACKETS {
      @Override
      void run() throws Exception {
        try (Two two = new Two(VerbsPath.DEFAULT)) {
          assertEquals(4096, two.client.prepared.mtuBytes());
          assertEquals(1024, two.server.prepared.mtuBytes());
          VerbsWorkException e = assertThrows(VerbsWorkException.class, () -> two.move(BYTES));
          assertEquals(VerbsWorkStatus.Side.PEER, e.status().side());
        }
        try (Two two = new Two(VerbsPath.DEFAULT.withMtuCap(1024))) {
          two.move(BYTES);
        }
      }
    },
    /** It says so before its time: no more than back-pressure. */
    FULL_QUEUE {
      @Override
      void run() throws Exception {
        try (Two two = new Two(VerbsPath.DEFAULT)) {
          two.moveMany(4);
          two.fill(4);
          assertEquals(4, two.batch.size());
          assertEquals(0, two.client.pair.inFlight());
          assertEquals(4, two.client.pair.post(two.batch));
          two.reap(4);
        }
      }
    },
    NEW_ADDRESS {
      @Override
      void run() throws Exception {
        VerbsGid moved;
        try (Two two = new Two(VerbsPath.DEFAULT)) {
          VerbsGid told = two.client.prepared.gid().gid();
          do {
            Thread.sleep(10);
            moved = two.client.device.port(1).gidChoice().orElseThrow().entry().gid();
          } while (moved.equals(told));
          try (VerbsPreparedQueuePair next =
              VerbsPreparedQueuePair.open(
                  two.client.domain,
                  two.client.completions,
                  new VerbsQueueSettings(1, VerbsAccess.LOCAL_READ, VerbsPath.DEFAULT),
                  1)) {
            assertEquals("10.9.8.7", next.gid().gid().toString());
            assertEquals("RoCE v2 with a routable IPv4 address", next.gidReason());
          }
        }
      }
    },
    PARTLY_UNREADABLE {
      @Override
      void run() throws Exception {
        try (VerbsDevice device = VerbsDevice.open(VerbsDevice.list().get(0))) {
          int found = device.port(1).gidTable().size();
          assertEquals(found + 1, device.port(1).gidTable().size(), "only one entry is left out");
        }
      }
    },
    /** Nobody has the region any more, but the adapter has. */
    FORGOTTEN_MEMORY {
      @Override
      void run() throws Exception {
        VerbsEnd end = new VerbsEnd(VerbsDevice.list().get(0), VerbsQueueSettings.DEFAULT);
        WeakReference<ByteBuffer> forgotten = forget(end.domain);
        WeakReference<ByteBuffer> free = new WeakReference<>(ByteBuffer.allocateDirect(64));
        while (free.get() != null) {
          System.gc();
          Thread.sleep(1);
        }
        assertTrue(forgotten.get() != null, "memory was collected that is registered");
      }

      @SuppressWarnings("MustBeClosed") // It is not, on purpose.
      private WeakReference<ByteBuffer> forget(VerbsProtectionDomain domain) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(64);
        VerbsMemoryRegion.of(domain, buffer, VerbsAccess.LOCAL_WRITE);
        return new WeakReference<>(buffer);
      }
    },
    /** A wait for a completion leaves the processor to others. */
    RESTING {
      @Override
      void run() throws Exception {
        try (Two two = new Two(VerbsPath.DEFAULT)) {
          VerbsCompletions done = VerbsCompletions.allocate(1);
          two.client.completions.await(done, Duration.ofMillis(1));
          long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
          assertEquals(0, two.client.completions.await(done, Duration.ofSeconds(1)));
          long used = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before;
          assertTrue(used < 200_000_000, () -> "a second of waiting took " + used + " ns");
        }
      }
    },
    /** Posting and reaping leave the collector nothing to do. */
    FRUGAL {
      @Override
      void run() throws Exception {
        try (Two two = new Two(VerbsPath.DEFAULT)) {
          long fewest =
              Allocation.fewest(
                  20,
                  () -> {
                    for (int i = 0; i < 100; i++) {
                      two.fill(16);
                      for (int left = 16; left > 0; ) {
                        left -= two.client.completions.poll(two.done, LIMIT);
                      }
                    }
                  });
          assertEquals(0, fewest / 1600, "bytes allocated for a request");
        }
      }
    },
    /** The same with messages and the requests that receive them. */
    FRUGAL_MESSAGES {
      @Override
      void run() throws Exception {
        try (Two two = new Two(VerbsPath.DEFAULT)) {
          long fewest =
              Allocation.fewest(
                  20,
                  () -> {
                    for (int i = 0; i < 50; i++) {
                      two.exchange();
                    }
                  });
          assertEquals(0, fewest / (50 * 2 * RECEIVES), "bytes allocated for a request");
        }
      }
    },
    FULL_RECEIVES {
      @Override
      void run() throws Exception {
        try (Two two = new Two(VerbsPath.DEFAULT)) {
          two.exchange();
          two.receives.receive(1, two.far, 0, 8);
          assertEquals(0, two.server.pair.post(two.receives));
          assertEquals(0, two.server.pair.receivesInFlight());
          assertEquals(1, two.server.pair.post(two.receives));
        }
      }
    },
    /** No device says how much it takes before it is asked for too much. */
    LITTLE_INLINE {
      @Override
      void run() throws Exception {
        try (Two two = new Two(VerbsPath.DEFAULT)) {
          assertEquals(16, two.client.pair.maxInlineBytes());
          two.exchange();
        }
      }
    },
    FORKS {
      @Override
      void run() throws Exception {
        VerbsLibrary.protectForks();
        try (Two two = new Two(VerbsPath.DEFAULT)) {
          two.move(BYTES);
        }
      }
    },
    LATE_FORKS {
      @Override
      void run() {
        VerbsException e = assertThrows(VerbsException.class, VerbsLibrary::protectForks);
        assertEquals("EINVAL", e.symbol());
      }
    },
    /** Each cause has a code and a remedy of its own. */
    LOCKED_MEMORY {
      @Override
      void run() throws Exception {
        try (Two two = new Two(VerbsPath.DEFAULT)) {
          VerbsException much =
              assertThrows(
                  VerbsException.class, () -> two.client.memory(1 << 20, VerbsAccess.LOCAL_WRITE));
          assertEquals("ENOMEM", much.symbol());
          assertTrue(much.getMessage().contains("limit of locked memory="), much::toString);
          VerbsException absent =
              assertThrows(
                  VerbsException.class,
                  () ->
                      VerbsMemoryRegion.borrow(
                              two.client.domain, 4096, 4096, VerbsAccess.LOCAL_WRITE)
                          .close());
          assertEquals("EFAULT", absent.symbol());
          for (int i = 0; i < 1000; i++) {
            VerbsMemoryRegion.allocate(two.client.domain, 64, VerbsAccess.LOCAL_WRITE).close();
          }
        }
      }
    };

    abstract void run() throws Exception;
  }

  /** Two ends, with memory. */
  private static final class Two implements AutoCloseable {
    final VerbsEnd client;
    final VerbsEnd server;
    final VerbsWorkBatch batch = VerbsWorkBatch.allocate(64, 8);
    final VerbsReceiveBatch receives = VerbsReceiveBatch.allocate(RECEIVES);
    private final ByteBuffer data = ByteBuffer.allocate(8);
    private final VerbsCompletions done = VerbsCompletions.allocate(64);
    private final VerbsMemoryRegion near;
    private final VerbsMemoryRegion far;

    Two(VerbsPath path) {
      this(path, 512);
    }

    Two(VerbsPath path, int completions) {
      List<String> names = VerbsDevice.list();
      client =
          new VerbsEnd(
              names.get(0),
              new VerbsQueueSettings(64, VerbsAccess.LOCAL_READ, path).withInline(64),
              completions);
      server =
          new VerbsEnd(
              names.get(1),
              new VerbsQueueSettings(2, VerbsAccess.READ_WRITE, path).withReceives(RECEIVES),
              completions);
      VerbsRemote toClient = client.remote();
      client.connect(server.remote());
      server.connect(toClient);
      near = client.memory(BYTES, VerbsAccess.LOCAL_WRITE);
      far = server.memory(BYTES, VerbsAccess.READ_WRITE);
    }

    /** One request there and one back. */
    void move(int bytes) throws InterruptedException {
      byte[] sent = new byte[bytes];
      for (int i = 0; i < bytes; i++) {
        sent[i] = (byte) (i * 31 + i / 256);
      }
      near.write(0, ByteBuffer.wrap(sent));
      batch.write(1, near, 0, bytes, far.address(), far.rkey());
      client.pair.post(batch);
      reap(1);
      near.write(0, ByteBuffer.allocate(bytes));
      batch.read(2, near, 0, bytes, far.address(), far.rkey());
      client.pair.post(batch);
      reap(1);
      ByteBuffer back = ByteBuffer.allocate(bytes);
      near.read(0, back);
      assertEquals(ByteBuffer.wrap(sent), back.flip());
    }

    /** Posts what fits. */
    void fill(int requests) {
      for (int i = 0; i < requests; i++) {
        batch.read(i, near, i, 1, far.address(), far.rkey());
      }
      client.pair.post(batch);
    }

    /** Messages of both kinds, each received and looked at. */
    void exchange() throws InterruptedException {
      for (int i = 0; i < RECEIVES; i++) {
        receives.receive(i, far, 8 * i, 8);
        if (i % 2 == 0) {
          batch.send(i, near, 8 * i, 8);
        } else {
          batch.sendInline(i, data.clear());
        }
        batch.immediate(i);
      }
      assertEquals(RECEIVES, server.pair.post(receives));
      assertEquals(RECEIVES, client.pair.post(batch));
      int seen = 0;
      while (seen < RECEIVES) {
        int count = server.completions.poll(done, LIMIT);
        for (int i = 0; i < count; i++, seen++) {
          if (done.immediate(i) != seen || done.operation(i) != VerbsOperation.RECEIVE) {
            throw new AssertionError(seen + ": " + done.immediate(i));
          }
        }
      }
      for (int left = RECEIVES; left > 0; ) {
        left -= client.completions.poll(done, LIMIT);
      }
    }

    void moveMany(int requests) throws InterruptedException {
      fill(requests);
      for (int left = requests; left > 0; ) {
        left -= reapSome();
        client.pair.post(batch);
      }
    }

    void reap(int requests) throws InterruptedException {
      for (int left = requests; left > 0; ) {
        left -= reapSome();
      }
    }

    private int reapSome() throws InterruptedException {
      int count = client.completions.await(done, LIMIT);
      assertTrue(count > 0, "nothing comes");
      for (int i = 0; i < count; i++) {
        if (!done.isSuccess(i)) {
          throw done.failure(i);
        }
      }
      return count;
    }

    @Override
    public void close() throws Exception {
      client.close();
      server.close();
    }
  }

  /** Runs one case. */
  static final class Probe {
    private Probe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      Case.valueOf(arguments[0]).run();
      System.out.println("done=" + arguments[0]);
    }
  }
}
