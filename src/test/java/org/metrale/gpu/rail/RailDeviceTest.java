package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.verbs.VerbsEvent;
import org.metrale.gpu.verbs.VerbsGpuMemory;
import org.metrale.gpu.wire.RailDialect;

/** Devices of all kinds under rails, each in a process of its own on the software GPU host. */
@Tag("emulator")
@Tag("slow")
@Timeout(60)
final class RailDeviceTest {
  private static final RailTarget START = new RailTarget(0, 0);

  private static RailHost host(long bytes, RailDialect dialect) throws Exception {
    return new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), bytes, dialect);
  }

  /** Its peers need a number that the handshake has no place for. */
  @Test
  void anInfiniBandDeviceIsRefusedBeforeAnythingIsSent(@TempDir Path folder) throws Exception {
    Path file = Files.write(folder.resolve("emulator.conf"), List.of("ibv.kind = infiniband"));
    String said =
        SoftwareHost.running(InfiniBandProbe.class)
            .environment("METRALE_EMULATOR_CONFIG", file)
            .run()
            .succeeded()
            .value("said");
    assertTrue(said.contains("mlx5_0 is on InfiniBand"), said);
  }

  /** Says why rails cannot be had. */
  static final class InfiniBandProbe {
    private InfiniBandProbe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      try (RailHost host = host(64, RailDialect.READ_ONLY)) {
        IllegalStateException e =
            assertThrows(
                IllegalStateException.class,
                () -> host.client().connect(host.clientRails, RailHost.LIMIT).close());
        assertEquals(0, host.server.clients() + host.server.failedSoFar());
        System.out.println("said=" + e.getMessage());
      }
    }
  }

  /** Each of these calls of this side never returns. */
  @ParameterizedTest
  @CsvSource({
    "ibv_reg_mr call=1, DEADLINE_PASSED, registering memory",
    "ibv_create_cq call=1, DEADLINE_PASSED, making rail[0]",
    "ibv_create_qp device=1 call=1, DEADLINE_PASSED, making rail[1]",
    "ibv_modify_qp device=1 call=2, LOCAL_FAULT, connecting rail[1] of 2",
  })
  void aStuckDeviceEndsTheHandshakeAtItsDeadline(
      String call, String reason, String where, @TempDir Path folder) throws Exception {
    Path file =
        Files.write(folder.resolve("emulator.conf"), List.of("fault = ibverbs." + call + " hang"));
    ForkedJvm.Result said =
        SoftwareHost.running(StuckProbe.class)
            .environment("METRALE_EMULATOR_CONFIG", file)
            .run()
            .succeeded();
    assertEquals(reason, said.value("reason"));
    assertEquals(where, said.value("where"));
  }

  /** Says how a connection ended. */
  static final class StuckProbe {
    private StuckProbe() {}

    /** Runs it. */
    @SuppressWarnings("MustBeClosed") // what a stuck device has cannot be closed
    public static void main(String[] arguments) throws Exception {
      try (PeerProcess peer =
          new PeerProcess(
              RailDialect.READ_ONLY,
              4096,
              RailPeer.Death.NEVER,
              RdmaDevices.servers(),
              Map.of("METRALE_EMULATOR_CONFIG", ""))) {
        RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
        HandshakeException e =
            assertThrows(
                HandshakeException.class,
                () -> peer.client().connect(rails, Duration.ofSeconds(1)).close());
        System.out.println("reason=" + e.reason());
        System.out.println("where=" + e.field());
      }
    }
  }

  /** Whatever another one makes of it, and also if that has fewer rails. */
  @Test
  void everybodyIsToldOfAnEvent(@TempDir Path folder) throws Exception {
    String said =
        SoftwareHost.running(folder, "ibv.at = 3000 ibv.1.state = down", EventProbe.class)
            .run()
            .succeeded()
            .value("told");
    assertEquals("10", said);
  }

  /** Says which event came last in a row. */
  static final class EventProbe {
    private EventProbe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      BlockingQueue<VerbsEvent> told = new LinkedBlockingQueue<>();
      try (RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
          RailSet first = rails.apart(1)) {
        RailEvents fewer = new RailEvents(first, null, null);
        first.add(
            (rail, event) -> {
              throw new IllegalStateException("on purpose");
            });
        first.add(fewer);
        rails.add((rail, event) -> told.add(event));
        VerbsEvent event = told.poll(20, TimeUnit.SECONDS);
        fewer.happened(1, event);
        System.out.println("told=" + event.type().code());
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "gpu.kind = h200, DMA_BUF",
    "'gpu.kind = h200; ibv.1.dma_buf = false', PEER_MEMORY",
    "gpu.kind = gb10, PINNED_HOST",
  })
  void aGpusMemoryIsTheSameOnEveryRail(String configuration, String way, @TempDir Path folder)
      throws Exception {
    String said =
        SoftwareHost.running(folder, configuration, GpuProbe.class).run().succeeded().value("way");
    assertEquals(way, said);
  }

  /** Reads into a GPU's memory over two rails and says how. */
  static final class GpuProbe {
    private GpuProbe() {}

    /** Runs it. */
    @SuppressWarnings("MustBeClosed") // the rails' memory closes it
    public static void main(String[] arguments) throws Exception {
      int length = 5 << 16; // whole pages, as a dma-buf wants them
      try (RailHost host = host(length, RailDialect.READ_ONLY);
          CudaContext context = CudaContext.openPrimary(0);
          DeviceMemory device = DeviceMemory.allocate(context, length);
          RailMemory near =
              RailMemory.ofGpu(
                  host.clientRails,
                  domains -> VerbsGpuMemory.register(domains, device, VerbsAccess.LOCAL_WRITE))) {
        host.arena.write(0, RailHost.bytes(5, length));
        try (ConnectedRails rails =
            host.client().inPiecesOf(10_000).connect(host.clientRails, RailHost.LIMIT)) {
          rails.read(near, 0, START, length, RailHost.LIMIT);
          rails.status().forEach(status -> assertTrue(status.carriedBytes() > 0));
        }
        VerbsGpuMemory gpu = near.gpu().orElseThrow();
        if (gpu.standIn().isPresent()) {
          context.copy(gpu.standIn().get().buffer(), device.buffer(), RailHost.LIMIT);
        } else {
          assertThrows(IllegalStateException.class, () -> near.read(0, ByteBuffer.allocate(1)));
        }
        ByteBuffer back = ByteBuffer.allocateDirect(length);
        context.copy(device.buffer(), CudaBuffer.of(back), RailHost.LIMIT);
        assertEquals(RailHost.bytes(5, length), back);
        System.out.println("way=" + gpu.way());
      }
    }
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ibv.max_qp_wr = 4; ibv.max_cqe = 3; ibv.max_rd_atomic = 1",
        "ibv.max_qp_wr = 1; ibv.max_cqe = 1",
        "ibv.max_message_bytes = 5000",
        "ibv.devices = 8",
        "fault = ibverbs.ibv_post_send call=3 code=12",
      })
  void everyDeviceIsGoodEnough(String configuration, @TempDir Path folder) throws Exception {
    String said =
        SoftwareHost.running(folder, configuration, Probe.class)
            .run()
            .succeeded()
            .value("failures");
    assertEquals("0", said);
  }

  /** Reads and writes with a fence, and says how often a rail failed. */
  static final class Probe {
    private Probe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      int length = 100_000;
      try (RailHost host = host(length, RailDialect.READ_WRITE)) {
        ConnectedRails rails = host.connect(host.client().inPiecesOf(7000));
        RailMemory memory = host.memory(length);
        for (int i = 0; i < 5; i++) {
          memory.write(0, RailHost.bytes(i, length));
          rails.writeFenced(memory, 0, START, length, RailHost.LIMIT);
          assertEquals(RailHost.bytes(i, length), RailHost.read(host.arena, 0, length));
          memory.write(0, ByteBuffer.allocate(length));
          rails.read(memory, 0, START, length, RailHost.LIMIT);
          assertEquals(RailHost.bytes(i, length), RailHost.read(memory, 0, length));
        }
        assertTrue(rails.status().stream().allMatch(status -> status.carriedBytes() > 0));
        System.out.println(
            "failures=" + rails.status().stream().mapToLong(RailStatus::failures).sum());
      }
    }
  }
}
