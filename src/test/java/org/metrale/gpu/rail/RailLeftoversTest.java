package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.verbs.VerbsException;
import org.metrale.gpu.wire.RailDialect;

/**
 * Connections that come to nothing at any call of either side, on a software GPU host whose devices
 * have room for one connection and no more: whatever is left of one is missed by the next.
 */
@Tag("emulator")
@Tag("full")
@Timeout(120)
final class RailLeftoversTest {
  /** Whose memory a client gets, which decides what is made for it. */
  enum Share {
    ALL,
    APART
  }

  /** Numbers without a common divisor, and above what the sets and their memory take. */
  private static final String FAULTS =
      "fault = ibverbs.ibv_create_comp_channel every=17 code=24; "
          + "fault = ibverbs.ibv_create_cq every=19 code=12; "
          + "fault = ibverbs.ibv_create_qp every=13 code=12; "
          + "fault = ibverbs.ibv_modify_qp every=41 code=22; "
          + "fault = ibverbs.ibv_reg_mr every=11 code=14; "
          + "fault = ibverbs.ibv_alloc_pd every=7 code=12";

  @ParameterizedTest
  @EnumSource
  void nothingIsLeftOfAConnectionWhereverItFails(Share share, @TempDir Path folder)
      throws Exception {
    int apart = share.equals(Share.APART) ? 1 : 0;
    // A device is at both ends: a queue pair each; arena, memory, fence and a client's own region.
    String limits =
        "ibv.max_qp = 2; ibv.max_cq = 2; ibv.max_pd = %d; ibv.max_mr = %d; "
            .formatted(2 + apart, 3 + apart);
    ForkedJvm.Result said =
        SoftwareHost.running(folder, limits + FAULTS, Probe.class, share.name()).run().succeeded();
    List<String> calls = List.of(said.value("calls").split(" ", -1));
    for (String call : List.of("ibv_create_comp_channel", "ibv_create_cq", "ibv_create_qp")) {
      assertTrue(calls.contains(call), said::toString);
    }
    assertTrue(calls.contains("ibv_modify_qp") && calls.contains("ibv_reg_mr"), said::toString);
    assertTrue(said.value("reasons").contains("PEER_REJECTED"), said::toString);
    assertTrue(said.value("reasons").contains("ACK_REFUSED"), said::toString);
    assertTrue(Integer.parseInt(said.value("connected")) > 20, said::toString);
  }

  /** What was closed last may be on its way still. */
  private static void noMoreThan(long descriptors) throws Exception {
    while (Descriptors.open() > descriptors) {
      Thread.sleep(1);
    }
  }

  /** Whatever takes it down, and also where it cannot be made again at the first attempt. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "transfer device=1 every=9 code=12",
        "transfer device=1 every=9 async=1",
        "completion device=1 every=9 code=17",
        "completion device=1 every=9 code=75",
        "transfer device=1 every=9 code=12; fault = ibverbs.ibv_create_qp device=1 every=3 code=12; "
            + "fault = ibverbs.ibv_modify_qp device=1 every=7 code=22",
      })
  void nothingIsLeftOfARailThatFailsAgainAndAgain(String fault, @TempDir Path folder)
      throws Exception {
    String limits = "ibv.max_qp = 1; ibv.max_cq = 1; ibv.max_pd = 1; ibv.max_mr = 2; ";
    ForkedJvm.Result said =
        SoftwareHost.running(folder, limits + "fault = ibverbs." + fault, RailProbe.class)
            .run()
            .succeeded();
    assertEquals("", said.value("wrong"), said::toString);
    assertEquals("0", said.value("untouched"), said::toString);
  }

  /**
   * What other rails have of a transfer then is waited for, though nobody waits for the transfer.
   */
  @Test
  void memoryIsLetGoAfterATransferThatItsListenerEnded(@TempDir Path folder) throws Exception {
    ForkedJvm.Result said =
        SoftwareHost.running(
                folder, "fault = ibverbs.transfer device=1 delay=100", ListenerProbe.class)
            .run()
            .succeeded();
    assertEquals("true", said.value("closed"), said::toString);
  }

  /** Ends a transfer while the second rail has pieces of it. */
  static final class ListenerProbe {
    private static final int BYTES = 1 << 20;

    private ListenerProbe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      try (RailHost host =
          new RailHost(
              RdmaDevices.servers(), RdmaDevices.clients(), BYTES, RailDialect.READ_ONLY)) {
        ConnectedRails connected = host.connect(host.client().inPiecesOf(4096));
        RailMemory memory = host.memory(BYTES);
        TransferTerms terms =
            TransferTerms.within(RailHost.LIMIT)
                .telling(
                    done -> {
                      throw new IllegalStateException("no more of this");
                    });
        RailTransfer transfer = connected.readAsync(memory, 0, new RailTarget(0, 0), BYTES, terms);
        while (!transfer.isDone()) {
          Thread.onSpinWait();
        }
        assertThrows(IllegalStateException.class, memory::close);
        RailListenerTest.untilClosed(memory);
        System.out.println("closed=" + memory.isClosed());
      }
    }
  }

  /** Reads from a peer while the second rail fails, again and again. */
  static final class RailProbe {
    private static final int BYTES = (1 << 20) + 5;
    private static final int FAILURES = 15;

    private RailProbe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      try (PeerProcess peer = PeerProcess.withSoundDevices(BYTES);
          RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
          RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
          ConnectedRails connected =
              peer.client().inPiecesOf(64 << 10).connect(rails, RailHost.LIMIT)) {
        String wrong = read(connected, memory, 2);
        RailTakeDownCases.untilActive(connected);
        long before = Descriptors.open();
        wrong += read(connected, memory, FAILURES);
        RailTakeDownCases.untilActive(connected);
        System.out.println("wrong=" + wrong);
        System.out.println("untouched=" + connected.status().get(0).failures());
        noMoreThan(before);
      }
    }

    /** Until the second rail has failed so often. */
    private static String read(ConnectedRails connected, RailMemory memory, int failures)
        throws Exception {
      String wrong = "";
      while (wrong.isEmpty() && connected.status().get(1).failures() < failures) {
        RailPeer.poison(memory, BYTES);
        connected.read(memory, 0, new RailTarget(0, 0), BYTES, RailHost.LIMIT);
        wrong = RailPeer.fault(memory, 0, BYTES);
      }
      return wrong;
    }
  }

  /** Connects again and again, and says what failed. */
  static final class Probe {
    private static final int ATTEMPTS = 300;
    private static final int BYTES = 4096;

    private Probe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      Set<String> calls = new TreeSet<>();
      Set<String> reasons = new TreeSet<>();
      int connected = 0;
      long before = 0;
      try (RailHost host =
          new RailHost(
              RdmaDevices.servers(), RdmaDevices.clients(), BYTES, RailDialect.READ_WRITE)) {
        RailMemory memory = host.memory(BYTES);
        RailServer server = server(host, Share.valueOf(arguments[0]));
        RailClient client = RailClient.to(server.address(), host.dialect).rebuilding(false);
        for (int i = 0; i < ATTEMPTS; i++) {
          try (ConnectedRails rails = client.connect(host.clientRails, RailHost.LIMIT)) {
            memory.write(0, RailHost.bytes(i, BYTES));
            rails.write(memory, 0, new RailTarget(0, 0), BYTES, RailHost.LIMIT);
            connected++;
          } catch (HandshakeException e) {
            reasons.add(e.reason().name());
            note(e.getCause(), calls);
          } catch (VerbsException e) {
            note(e, calls);
          }
          while (server.clients() > 0) {
            Thread.sleep(1);
          }
          if (i == ATTEMPTS / 2) {
            before = Descriptors.open();
          }
        }
        noMoreThan(before);
      }
      System.out.println("calls=" + String.join(" ", calls));
      System.out.println("reasons=" + String.join(" ", reasons));
      System.out.println("connected=" + connected);
    }

    private static void note(Throwable failure, Set<String> calls) {
      if (failure instanceof VerbsException e) {
        calls.add(e.call());
      }
    }

    @SuppressWarnings("MustBeClosed") // the host does
    private static RailServer server(RailHost host, Share share) throws IOException {
      RailShare offered =
          share.equals(Share.ALL)
              ? RailShare.of(List.of(host.arena))
              : RailShare.apart(List.of(new RailBuffer(host.arena.address(), BYTES)));
      return host.keep(
          RailServer.start(
              host.serverRails, RailHost.service(host.dialect, offered), RailHost.PATIENT));
    }
  }
}
