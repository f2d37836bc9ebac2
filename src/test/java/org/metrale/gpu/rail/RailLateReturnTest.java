package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.RailDialect;

/**
 * Calls of a device that return after a close has given up waiting for them, on the software GPU
 * host: whoever comes back last finishes the close, and nothing is left.
 */
@Tag("emulator")
@Tag("full")
@Timeout(120)
final class RailLateReturnTest {
  private static final int BYTES = 4 << 20;
  private static final Duration BRIEF = Duration.ofSeconds(1);
  private static final RailTarget START = new RailTarget(0, 0);

  @ParameterizedTest
  @ValueSource(strings = {"ibv_post_send call=2", "ibv_poll_cq call=9", "ibv_destroy_qp call=1"})
  void finishTheClose(String call, @TempDir Path folder) throws Exception {
    String limits = "ibv.max_qp = 1; ibv.max_cq = 1; ibv.max_pd = 1; ibv.max_mr = 2; ";
    ForkedJvm.Result said =
        SoftwareHost.running(
                folder,
                limits + "fault = ibverbs." + call + " device=1 block=10000",
                ClientProbe.class,
                String.valueOf(!call.startsWith("ibv_destroy_qp")))
            .run()
            .succeeded();
    assertTrue(said.value("close").contains("does not let go"), said::toString);
    assertTrue(said.value("rails").contains("dependents open"), said::toString);
    assertEquals("same", said.value("bytes"), said::toString);
  }

  /** Closes rails too early, and has others on the same devices when those are closed. */
  static final class ClientProbe {
    private ClientProbe() {}

    /** Runs it. */
    @SuppressWarnings("MustBeClosed") // what is closed here is closed by hand
    public static void main(String[] arguments) throws Exception {
      try (PeerProcess peer = PeerProcess.withSoundDevices(BYTES)) {
        RailClient client = peer.client().rebuilding(false).inPiecesOf(64 << 10);
        RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()), BRIEF);
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        long before = Descriptors.ofDevices();
        ConnectedRails connected = client.connect(rails, RailHost.LIMIT);
        if (Boolean.parseBoolean(arguments[0])) {
          untilACallHangs(connected, memory);
        }
        System.out.println("close=" + refusal(connected));
        System.out.println("rails=" + refusal(rails));
        RailListenerTest.untilClosed(memory);
        memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        try (ConnectedRails next = connected(client, rails)) {
          RailPeer.poison(memory, BYTES);
          next.read(memory, 0, START, BYTES, RailHost.LIMIT);
          String fault = RailPeer.fault(memory, 0, BYTES);
          System.out.println("bytes=" + (fault.isEmpty() ? "same" : fault));
        }
        while (Descriptors.ofDevices() > before) {
          Thread.sleep(1);
        }
        memory.close();
        RailListenerTest.untilClosed(rails);
      }
    }

    /** How many calls a transfer takes is up to the processor. */
    private static void untilACallHangs(ConnectedRails connected, RailMemory memory)
        throws Exception {
      RailTransfer transfer;
      do {
        transfer = connected.readAsync(memory, 0, START, BYTES, TransferTerms.within(BRIEF));
        while (!transfer.isDone()) {
          Thread.sleep(1);
        }
      } while (transfer.doneBytes() == BYTES);
    }

    private static String refusal(NativeResource resource) {
      return assertThrows(IllegalStateException.class, resource::close).getMessage();
    }

    /** There is room for these rails when the others are closed, and not before. */
    private static ConnectedRails connected(RailClient client, RailSet rails) throws Exception {
      long end = System.nanoTime() + RailHost.LIMIT.toNanos();
      while (true) {
        try {
          return client.connect(rails, RailHost.LIMIT);
        } catch (IOException | RuntimeException e) {
          if (System.nanoTime() - end > 0) {
            throw e;
          }
          Thread.sleep(10);
        }
      }
    }
  }

  /** What a client had for itself is the peer's to write to until its queue pair is gone. */
  @Test
  void theServerTellsOfAClientThatIsGoneWhenItsDeviceHasLetGo(@TempDir Path folder)
      throws Exception {
    ForkedJvm.Result said =
        SoftwareHost.running(
                folder,
                "fault = ibverbs.ibv_destroy_qp device=1 call=2 block=10000",
                ServerProbe.class)
            .run()
            .succeeded();
    assertEquals("false", said.value("early"), said::toString);
    assertEquals("true", said.value("gone"), said::toString);
  }

  /** A client leaves, and its queue pair at the server takes its time. */
  static final class ServerProbe {
    private ServerProbe() {}

    /** Runs it. */
    @SuppressWarnings("MustBeClosed") // what is closed here is closed by hand
    public static void main(String[] arguments) throws Exception {
      RailSet serverRails = RailSet.open(RailHost.specs(RdmaDevices.servers()), BRIEF);
      RailMemory arena = RailMemory.allocate(serverRails, BYTES, VerbsAccess.LOCAL_WRITE);
      AtomicBoolean gone = new AtomicBoolean();
      RailServer server =
          RailServer.start(
              serverRails,
              new RailService() {
                @Override
                public RailDialect dialect() {
                  return RailDialect.READ_ONLY;
                }

                @Override
                public RailShare greet(HandshakeConnection connection) {
                  return RailShare.apart(List.of(new RailBuffer(arena.address(), BYTES)));
                }

                @Override
                public void gone(RailShare share) {
                  gone.set(true);
                }
              },
              RailHost.PATIENT);
      try (RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()))) {
        RailClient client = RailClient.to(server.address(), RailDialect.READ_ONLY);
        client.connect(rails, RailHost.LIMIT).close();
        while (server.clients() > 0) {
          Thread.sleep(1);
        }
        System.out.println("early=" + gone.get());
        server.close();
        assertFalse(server.clients() > 0);
        while (!gone.get()) {
          Thread.sleep(1);
        }
        System.out.println("gone=" + gone.get());
      }
      arena.close();
      RailListenerTest.untilClosed(serverRails);
    }
  }
}
