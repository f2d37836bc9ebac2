package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeAll;
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
import org.metrale.gpu.rail.RailException.Reason;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.verbs.VerbsWorkException;
import org.metrale.gpu.wire.RailDialect;

/** Two processes on the software GPU host, and the faults that Soft-RoCE cannot be given. */
@Tag("emulator")
@Tag("slow")
@Timeout(60)
final class RailProcessTest {
  private static final int BYTES = 4 << 20;
  private static final RailTarget START = new RailTarget(0, 0);

  @TempDir private Path folder;

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  private PeerProcess peer(RailPeer.Death death, String... configuration) throws Exception {
    Path file = Files.write(folder.resolve("emulator.conf"), List.of(configuration));
    return new PeerProcess(
        RailDialect.READ_ONLY,
        BYTES,
        death,
        RdmaDevices.servers(),
        Map.of("METRALE_EMULATOR_CONFIG", file.toString()));
  }

  @Test
  void aRailThatIsCutAtThePeerLeavesRotationAndComesBack() throws Exception {
    try (PeerProcess peer =
            peer(
                RailPeer.Death.NEVER,
                "ibv.at = 4000 ibv.1.state = down",
                "ibv.at = 6500 ibv.1.state = active");
        RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, RailHost.LIMIT)) {
      long end = System.nanoTime() + RailHost.LIMIT.toNanos();
      long carriedBefore = Long.MAX_VALUE;
      while (second(connected).carriedBytes() <= carriedBefore) {
        assertTrue(System.nanoTime() < end, () -> connected.status().toString());
        connected.read(memory, 0, START, BYTES, RailHost.LIMIT);
        assertEquals(-1, RailPeer.mismatch(memory, 0, 0, BYTES));
        if (second(connected).failures() > 0 && carriedBefore == Long.MAX_VALUE) {
          carriedBefore = second(connected).carriedBytes();
        }
      }
      assertEquals(0, connected.status().get(0).failures());
    }
  }

  /** The cable of one rail is out when the rails are made: the other carries until it is in. */
  @Test
  void aLinkThatIsDownFromTheBeginningIsDoneWithoutUntilItIsUp() throws Exception {
    List<String> late = List.of("ibv.1.state = down", "ibv.at = 4000 ibv.1.state = active");
    ForkedJvm.Result here = probe(String.join("\n", late));
    assertEquals("true", here.value("back"), here::toString);
    try (PeerProcess peer = peer(RailPeer.Death.NEVER, late.toArray(String[]::new));
        RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, RailHost.LIMIT)) {
      long end = System.nanoTime() + RailHost.LIMIT.toNanos();
      while (second(connected).carriedBytes() == 0) {
        assertTrue(System.nanoTime() < end, () -> connected.status().toString());
        RailPeer.poison(memory, BYTES);
        connected.read(memory, 0, START, BYTES, RailHost.LIMIT);
        assertEquals("", RailPeer.fault(memory, 0, BYTES));
      }
      assertTrue(second(connected).failures() > 0);
      assertEquals(0, connected.status().get(0).failures());
    }
  }

  private static RailStatus second(ConnectedRails connected) {
    return connected.status().get(1);
  }

  @Test
  void aDeviceThatThePeerLosesIsDoneWithout() throws Exception {
    try (PeerProcess peer = peer(RailPeer.Death.NEVER, "ibv.at = 4000 ibv.1.state = fatal");
        RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, RailHost.LIMIT)) {
      while (second(connected).failures() == 0) {
        connected.read(memory, 0, START, BYTES, RailHost.LIMIT);
      }
      connected.read(memory, 0, START, BYTES, RailHost.LIMIT);
      assertEquals(-1, RailPeer.mismatch(memory, 0, 0, BYTES));
      assertEquals(RailStatus.State.ACTIVE, connected.status().get(0).state());
      // The other comes back without it.
      connected.takeDown(0, "a drill");
      RailPeer.poison(memory, BYTES);
      connected.read(memory, 0, START, BYTES, RailHost.LIMIT);
      assertEquals("", RailPeer.fault(memory, 0, BYTES));
    }
  }

  @ParameterizedTest
  @CsvSource({"0, state = fatal", "1, state = fatal", "0, gids = -"})
  void aRailComesBackThoughAnotherIsLostForEver(int lost, String how) throws Exception {
    int other = 1 - lost;
    Path file =
        Files.write(
            folder.resolve("emulator.conf"),
            List.of(
                "ibv.at = 3000 ibv." + lost + "." + how,
                "ibv.at = 5000 ibv." + other + ".state = down",
                "ibv.at = 6000 ibv." + other + ".state = active"));
    ForkedJvm.Result result =
        SoftwareHost.running(RailSurvivorProbe.class, Integer.toString(other))
            .environment("METRALE_EMULATOR_CONFIG", file)
            .run()
            .succeeded();
    assertEquals("", result.value("wrong"), result::toString);
    assertEquals("true", result.value("back"), result::toString);
    assertEquals("DOWN", result.value("lost"), result::toString);
  }

  @Test
  void railsCarryInProportionToWhatTheyCan() throws Exception {
    Path file =
        Files.write(
            folder.resolve("emulator.conf"),
            List.of("ibv.0.bytes_per_second = 60000000", "ibv.1.bytes_per_second = 20000000"));
    String share =
        SoftwareHost.running(ProportionProbe.class)
            .environment("METRALE_EMULATOR_CONFIG", file)
            .run()
            .succeeded()
            .value("share");
    assertTrue(Double.parseDouble(share) > 2, () -> "fast rail to slow rail: " + share);
  }

  /** No completion for longer than an adapter would try, since the bytes take that long. */
  @Test
  void aSlowRailIsNotTakenForOneThatStopped() throws Exception {
    Path file =
        Files.write(
            folder.resolve("emulator.conf"),
            List.of("ibv.0.bytes_per_second = 1000000", "ibv.1.bytes_per_second = 1000000"));
    String failures =
        SoftwareHost.running(SlowProbe.class)
            .environment("METRALE_EMULATOR_CONFIG", file)
            .run()
            .succeeded()
            .value("failures");
    assertEquals("0", failures);
  }

  /** Writes two pieces that take eight seconds each. */
  static final class SlowProbe {
    private SlowProbe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      int length = 16 << 20;
      try (RailHost host =
          new RailHost(
              RdmaDevices.servers(), RdmaDevices.clients(), length, RailDialect.READ_WRITE)) {
        ConnectedRails rails = host.connect(host.client().inPiecesOf(length / 2));
        RailMemory memory = host.memory(length);
        memory.write(0, RailHost.bytes(1, length));
        rails.write(memory, 0, START, length, Duration.ofSeconds(40));
        assertEquals(RailHost.bytes(1, length), RailHost.read(host.arena, 0, length));
        System.out.println(
            "failures=" + rails.status().stream().mapToLong(RailStatus::failures).sum());
      }
    }
  }

  /** The calls that end its queue pair never return: the other rail and the close do not care. */
  @ParameterizedTest
  @ValueSource(
      strings = {
        "fault = ibverbs.ibv_destroy_qp device=1 call=1 hang",
        "fault = ibverbs.ibv_modify_qp device=1 call=4 hang",
      })
  void aDeviceThatIsStuckHoldsUpNothingElse(String fault) throws Exception {
    Path file = Files.write(folder.resolve("emulator.conf"), List.of(fault));
    ForkedJvm.Result result =
        SoftwareHost.running(RailStuckDeviceProbe.class)
            .environment("METRALE_EMULATOR_CONFIG", file)
            .run()
            .succeeded();
    assertEquals("", result.value("after"), result::toString);
    assertTrue(result.value("close").contains("does not let go"), result::toString);
  }

  @Test
  void aDeviceThatDoesNotAnswerKeepsNoOtherRailDown() throws Exception {
    Path file =
        Files.write(
            folder.resolve("emulator.conf"),
            List.of("ibv.at = 2500 fault = ibverbs.ibv_query_port device=1 hang"));
    String wrong =
        SoftwareHost.running(MuteDeviceProbe.class)
            .environment("METRALE_EMULATOR_CONFIG", file)
            .run()
            .succeeded()
            .value("wrong");
    assertEquals("", wrong);
  }

  /** Takes both rails down when the second's device has gone mute, and reads. */
  static final class MuteDeviceProbe {
    private MuteDeviceProbe() {}

    /** Runs it. */
    @SuppressWarnings("MustBeClosed") // what a mute device has cannot be closed
    public static void main(String[] arguments) throws Exception {
      try (PeerProcess peer = PeerProcess.withSoundDevices(BYTES)) {
        RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, RailHost.LIMIT);
        Thread.sleep(3000); // the device is mute by its own timetable
        connected.takeDown(1, "a drill");
        connected.takeDown(0, "a drill");
        RailPeer.poison(memory, BYTES);
        connected.read(memory, 0, START, BYTES, RailHost.LIMIT);
        System.out.println("wrong=" + RailPeer.fault(memory, 0, BYTES));
      }
    }
  }

  /** What no piece may be lost by, nor be taken for done: completions that lie, or never come. */
  @ParameterizedTest
  @CsvSource({
    "transfer device=1 call=7 hang, 'no completion for '",
    "completion device=1 call=7 skip, completed request 7",
    "completion device=1 call=7 code=17, completed request 6",
    "completion device=1 call=7 code=75, ibv_poll_cq",
    "transfer device=1 call=7 code=12, IBV_WC_RETRY_EXC_ERR",
    "transfer device=1 call=7 async=1, local work queue catastrophic error (1)",
  })
  void aRailWhoseCompletionsGoWrongIsRebuilt(String fault, String why) throws Exception {
    ForkedJvm.Result result = probe("fault = ibverbs." + fault);
    assertEquals("true", result.value("back"), result::toString);
    assertTrue(result.value("fault").contains(why), () -> result.value("fault"));
  }

  /** Soft-RoCE says of the request at which its queue pair fails that it was done. */
  @Test
  void aReadThatIsSaidToBeDoneBeforeTheRailFailsIsDoneAgain() throws Exception {
    ForkedJvm.Result result =
        probe("ibv.vendor_id = 16777215\nfault = ibverbs.transfer device=1 call=7 code=0");
    assertEquals("true", result.value("back"), result::toString);
    String fault = result.value("fault");
    assertTrue(fault.contains("no request of it had failed"), fault);
    assertTrue(fault.contains("its device told of nothing"), fault);
    assertTrue(fault.contains("Soft-RoCE says of one at which it fails"), fault);
  }

  /** Requests that are given up say nothing of why: it is not one of them that is named for it. */
  @Test
  void railsThatAreLostWithoutAFailedRequestSaySo() throws Exception {
    Path file =
        Files.write(
            folder.resolve("emulator.conf"), List.of("fault = ibverbs.transfer from=3 async=3"));
    ForkedJvm.Result result =
        SoftwareHost.running(LossProbe.class)
            .environment("METRALE_EMULATOR_CONFIG", file)
            .run()
            .succeeded();
    assertEquals("RAILS_LOST", result.value("reason"), result::toString);
    String said = result.value("said");
    assertTrue(said.contains("no request of it had failed"), said);
    assertTrue(said.contains("local access violation work queue error (3)"), said);
    assertEquals("IBV_WC_WR_FLUSH_ERR (5)", result.value("given up"), result::toString);
  }

  /** Reads until both rails are lost, which do not come back, and says why. */
  static final class LossProbe {
    private LossProbe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      try (RailHost host =
              new RailHost(
                  RdmaDevices.servers(), RdmaDevices.clients(), BYTES, RailDialect.READ_ONLY);
          ConnectedRails connected = host.client().connect(host.clientRails, RailHost.LIMIT)) {
        RailMemory memory = host.memory(BYTES);
        RailException e =
            assertThrows(
                RailException.class, () -> connected.read(memory, 0, START, BYTES, RailHost.LIMIT));
        System.out.println("reason=" + e.reason());
        System.out.println("said=" + e.getMessage());
        VerbsWorkException flushed =
            assertInstanceOf(VerbsWorkException.class, e.getCause().getCause());
        System.out.println("given up=" + flushed.status());
      }
    }
  }

  private ForkedJvm.Result probe(String configuration, String... arguments) throws Exception {
    Path file = Files.write(folder.resolve("emulator.conf"), List.of(configuration));
    ForkedJvm.Result result =
        SoftwareHost.running(RailFaultProbe.class, arguments)
            .environment("METRALE_EMULATOR_CONFIG", file)
            .run()
            .succeeded();
    assertEquals("", result.value("wrong"));
    assertEquals("0", result.value("untouched"));
    return result;
  }

  @Test
  void aRailWhoseAddressMovesIsRebuiltWithTheNewOne() throws Exception {
    ForkedJvm.Result result = probe("ibv.at = 8000 ibv.1.gids = v2 10.20.1.77 7");
    assertEquals("true", result.value("back"), result::toString);
    assertTrue(result.value("fault").contains("has lost the address"), result::toString);
  }

  /** As a Soft-RoCE device does whose network device is removed: it tells of that, and is mute. */
  @Test
  void aDeviceThatCannotBeAskedForItsAddressHasLostIt() throws Exception {
    ForkedJvm.Result result =
        probe(
            "ibv.at = 8000 fault = ibverbs.ibv_query_port device=1 code=19\n"
                + "ibv.at = 8000 ibv.1.gids = v2 10.20.1.77 7",
            "gone");
    assertEquals("false", result.value("back"), result::toString);
    assertTrue(result.value("fault").contains("has lost the address"), result::toString);
  }

  @Test
  void aDeviceThatSaysItIsLostIsDoneWithout() throws Exception {
    ForkedJvm.Result result = probe("ibv.at = 8000 ibv.1.state = fatal", "gone");
    assertEquals("false", result.value("back"), result::toString);
    // The event, or the requests that are flushed by the same: whichever is seen first.
    assertFalse(result.value("fault").isEmpty(), result::toString);
  }

  /** Errors must not leave behind what exceptions do not. */
  @Test
  void whatFailsForWantOfMemoryLeavesNothing() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(MemoryLimitProbe.class)
            .property("org.bytedeco.javacpp.maxPhysicalBytes", "400m")
            .run()
            .succeeded();
    for (String what : List.of("memory", "rails", "end")) {
      assertEquals("OutOfMemoryError", result.value(what), result::toString);
    }
    assertEquals("true", result.value("closed"));
  }

  @Test
  void aKilledPeerFailsTheTransferWithinItsDeadline() throws Exception {
    try (PeerProcess peer = peer(RailPeer.Death.NEVER);
        RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, RailHost.LIMIT)) {
      peer.kill();
      long start = System.nanoTime();
      RailException e =
          assertThrows(
              RailException.class,
              () -> connected.read(memory, 0, START, BYTES, Duration.ofSeconds(1)));
      assertEquals(Reason.DEADLINE_PASSED, e.reason());
      assertTrue(System.nanoTime() - start < Duration.ofSeconds(5).toNanos());
    }
  }

  /** Here a process that is stopped answers nothing, reads included. */
  @Test
  void aPeerThatStopsKeepsNobodyAndIsFoundAgainWhenItGoesOn() throws Exception {
    try (PeerProcess peer = peer(RailPeer.Death.NEVER);
        RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()));
        RailMemory memory = RailMemory.allocate(rails, BYTES, VerbsAccess.LOCAL_WRITE);
        ConnectedRails connected = peer.client().connect(rails, RailHost.LIMIT)) {
      Duration brief = Duration.ofSeconds(1);
      peer.signal("STOP");
      RailException reading =
          assertThrows(RailException.class, () -> connected.read(memory, 0, START, BYTES, brief));
      assertEquals(Reason.DEADLINE_PASSED, reading.reason(), reading::toString);
      HandshakeException connecting =
          assertThrows(HandshakeException.class, () -> peer.client().connect(rails, brief).close());
      assertEquals(
          HandshakeException.Reason.DEADLINE_PASSED, connecting.reason(), connecting::toString);
      peer.signal("CONT");
      RailPeer.poison(memory, BYTES);
      connected.read(memory, 0, START, BYTES, RailHost.LIMIT);
      assertEquals("", RailPeer.fault(memory, 0, BYTES));
      RailTakeDownCases.untilActive(connected);
      // Of those whom it kept waiting none is left.
      while (!peer.state().startsWith("1 ")) {
        Thread.sleep(1);
      }
    }
  }

  @Test
  void aPeerThatDiesInTheHandshakeLeavesNothing() throws Exception {
    for (RailPeer.Death death :
        List.of(
            RailPeer.Death.IN_PREAMBLE, RailPeer.Death.BEFORE_OFFER, RailPeer.Death.BEFORE_ACK)) {
      try (PeerProcess peer = peer(death);
          RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.clients()))) {
        assertThrows(
            HandshakeException.class, () -> peer.client().connect(rails, RailHost.LIMIT).close());
      }
    }
  }
}
