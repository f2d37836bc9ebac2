package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.metrale.gpu.rail.Fixtures.terms;
import static org.metrale.gpu.wire.GoldenVectors.bytes;
import static org.metrale.gpu.wire.GoldenVectors.hex;

import java.io.IOException;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.metrale.gpu.rail.Fixtures.ScriptedClient;
import org.metrale.gpu.rail.Fixtures.ScriptedServer;
import org.metrale.gpu.rail.HandshakeException.Reason;
import org.metrale.gpu.wire.ClientRailFrame;
import org.metrale.gpu.wire.Gid;
import org.metrale.gpu.wire.ManifestDialect;
import org.metrale.gpu.wire.ModelRequest;
import org.metrale.gpu.wire.PagingHeader;
import org.metrale.gpu.wire.PagingKind;
import org.metrale.gpu.wire.RailDialect;
import org.metrale.gpu.wire.Region;
import org.metrale.gpu.wire.RemoteQp;
import org.metrale.gpu.wire.RoRailFrame;
import org.metrale.gpu.wire.RoServerRecord;
import org.metrale.gpu.wire.RwRailFrame;
import org.metrale.gpu.wire.RwServerRecord;
import org.metrale.gpu.wire.ServerFrame;
import org.metrale.gpu.wire.TransportMode;
import org.metrale.gpu.wire.WireFormatException;

class HandshakeConnectionTest {
  private static final Duration LONG = Duration.ofMinutes(1);

  @ParameterizedTest
  @EnumSource(RailDialect.class)
  void resetBeforeTheCountIsARefusalLikeTheEndOfTheStream(RailDialect dialect) {
    IOException reset = new SocketException("Connection reset");
    HandshakeException broken = refused(script("").thenFail(reset), dialect);
    HandshakeException ended = refused(script(""), dialect);
    HandshakeException unwritable = refused(script("").refuseWrites(reset), dialect);
    for (HandshakeException e : List.of(broken, ended, unwritable)) {
      assertEquals(Reason.PEER_REJECTED, e.reason());
      assertEquals(ended.getMessage(), e.getMessage());
      assertTrue(e.getMessage().contains("--max-blade-gb"), e.getMessage());
      assertEquals("2", e.wanted());
    }
    assertSame(reset, broken.getCause());
    assertSame(reset, unwritable.getCause());
  }

  @ParameterizedTest
  @EnumSource(RailDialect.class)
  void resetInsideTheOfferMeansWhatItsEndMeans(RailDialect dialect) {
    ByteBuffer offer = Fixtures.offer(dialect, 2, 2).encode();
    for (int k = 1; k < offer.limit(); k++) {
      ByteBuffer cut = offer.duplicate().limit(k);
      HandshakeException ended = refused(new ScriptedTransport(cut, 9), dialect);
      HandshakeException broken =
          refused(
              new ScriptedTransport(cut, 9).thenFail(new SocketException("Connection reset")),
              dialect);
      assertEquals(Reason.TRUNCATED, ended.reason());
      assertEquals(ended.getMessage(), broken.getMessage());
    }
  }

  @Test
  void acknowledgementIsLeftOnTheStreamUntilItIsDue() throws Exception {
    String more = "0102030405";
    ScriptedTransport stream =
        script(hex(Fixtures.offer(RailDialect.READ_ONLY, 2, 3).encode()) + "00" + more);
    ClientHandshake.Established established =
        over(stream, RailDialect.READ_ONLY).connect(new ScriptedClient(Fixtures.locals(2)));
    assertEquals(2, established.servers().size());
    assertEquals(3, established.offer().rails().get(0).regions().size());
    ByteBuffer rest = ByteBuffer.allocate(16);
    stream.read(rest, new Deadline(0));
    assertEquals(more, hex(rest.flip()));
    assertFalse(stream.isClosed());
  }

  @ParameterizedTest
  @EnumSource(RailDialect.class)
  void aPeerThatSeemsToSpeakTheOtherDialectIsSaidTo(RailDialect dialect) {
    RemoteQp qp = new RemoteQp(1, 1, new Gid(1, 2));
    Region region = new Region(0x7f11_2233_4000L, 0xa1b2_c3d4L);
    ServerFrame other =
        dialect.equals(RailDialect.READ_ONLY)
            ? rw(qp, region)
            : new RoRailFrame(List.of(new RoServerRecord(qp, List.of(region))));
    ScriptedTransport stream = script(hex(other.encode()) + "00");
    HandshakeException e =
        assertThrows(
            HandshakeException.class,
            () -> over(stream, dialect).connect(new ScriptedClient(Fixtures.locals(1))));
    assertTrue(e.lookAt().contains("serves read-only"), e::getMessage);
  }

  @Test
  void objectionEndsTheHandshakeBeforeAnythingMoreIsSent() {
    ScriptedTransport stream = script(hex(Fixtures.offer(RailDialect.READ_ONLY, 2, 3).encode()));
    ScriptedClient picky =
        new ScriptedClient(Fixtures.locals(2)) {
          @Override
          public Optional<String> objection(ServerFrame offer) {
            return Optional.of("3 regions, 80 layers");
          }
        };
    HandshakeException e =
        assertThrows(
            HandshakeException.class, () -> over(stream, RailDialect.READ_ONLY).connect(picky));
    assertEquals(Reason.OFFER_REFUSED, e.reason());
    assertEquals("3 regions, 80 layers", e.got());
    assertEquals(1, stream.written().remaining());
    assertEquals(List.of(), picky.connected);
  }

  @Test
  void clientFaultNamesTheRailAndSparesThePeer() {
    ScriptedTransport stream = script(hex(Fixtures.offer(RailDialect.READ_WRITE, 2, 1).encode()));
    RuntimeException cause = new IllegalStateException("modify_qp: ENOMEM");
    ScriptedClient broken =
        new ScriptedClient(Fixtures.locals(2)) {
          @Override
          public void connect(int railIndex, RemoteQueuePair remote) {
            if (railIndex == 1) {
              throw cause;
            }
          }
        };
    HandshakeException e =
        assertThrows(
            HandshakeException.class, () -> over(stream, RailDialect.READ_WRITE).connect(broken));
    assertEquals(Reason.LOCAL_FAULT, e.reason());
    assertEquals("connecting rail[1] of 2", e.field());
    assertSame(cause, e.getCause());
    assertEquals(1, stream.written().remaining(), "the server hears of no half-made rails");
  }

  @ParameterizedTest
  @CsvSource({"0", "9", "256"})
  void impossibleNumbersOfRailsAreRefusedBeforeTheFirstByte(int rails) {
    ScriptedTransport stream = script("");
    ScriptedClient client = new ScriptedClient(Fixtures.locals(rails));
    HandshakeConnection connection = over(stream, RailDialect.READ_WRITE);
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> connection.connect(client));
    WireFormatException cause = assertInstanceOf(WireFormatException.class, e.getCause());
    assertEquals(
        rails == 9
            ? WireFormatException.Kind.RAIL_COUNT_OUT_OF_RANGE
            : WireFormatException.Kind.COUNT_NOT_ENCODABLE,
        cause.kind());
    assertEquals(0, stream.writes());
  }

  @Test
  void recordsThatNoQueuePairCanHaveAreRefused() {
    Gid gid = new Gid(1, 2);
    Region region = new Region(0x1000, 7);
    List<ServerFrame> frames =
        List.of(
            rw(new RemoteQp(0x100_0000, 1, gid), region),
            rw(new RemoteQp(1, 0x100_0000, gid), region),
            rw(new RemoteQp(1, 1, Gid.ZERO), region),
            rw(new RemoteQp(1, 1, gid), new Region(0x1000, 0)),
            new RoRailFrame(
                List.of(
                    new RoServerRecord(
                        new RemoteQp(1, 1, gid), List.of(region, new Region(0x1000, 0))))));
    List<String> fields =
        List.of(
            "rail[0].qpn", "rail[0].psn", "rail[0].gid", "rail[0].rkey", "rail[0].region[1].rkey");
    for (int i = 0; i < frames.size(); i++) {
      ServerFrame frame = frames.get(i);
      ScriptedTransport stream = script(hex(frame.encode()));
      ScriptedClient client = new ScriptedClient(Fixtures.locals(1));
      HandshakeException e =
          assertThrows(
              HandshakeException.class, () -> over(stream, frame.dialect()).connect(client));
      assertEquals(Reason.UNUSABLE_RECORD, e.reason());
      assertEquals(fields.get(i), e.field());
    }
  }

  @Test
  void serverTellsAClientWhoseRecordsItCannotUse() {
    String zeroGid = "01" + "07000000" + "08000000" + "00".repeat(16);
    ScriptedTransport stream = script("01" + zeroGid);
    ServerFrame offer = Fixtures.offer(RailDialect.READ_WRITE, 1, 1);
    ScriptedServer server = new ScriptedServer(1, offer);
    HandshakeException e =
        assertThrows(
            HandshakeException.class, () -> over(stream, RailDialect.READ_WRITE).accept(server));
    assertEquals(Reason.UNUSABLE_RECORD, e.reason());
    assertEquals(hex(offer.encode()) + "01", hex(stream.written()));
    assertTrue(stream.isClosed());
  }

  @Test
  void serverTellsAClientThatItCouldNotConnect() {
    ScriptedTransport stream = script(clientStream(2));
    ServerFrame offer = Fixtures.offer(RailDialect.READ_ONLY, 2, 1);
    ScriptedServer server =
        new ScriptedServer(2, offer) {
          @Override
          public void connect(int railIndex, RemoteQueuePair remote) throws IOException {
            throw new IOException("RTR: EINVAL");
          }
        };
    HandshakeException e =
        assertThrows(
            HandshakeException.class, () -> over(stream, RailDialect.READ_ONLY).accept(server));
    assertEquals(Reason.LOCAL_FAULT, e.reason());
    assertEquals("connecting rail[0] of 2", e.field());
    assertEquals(hex(offer.encode()) + "01", hex(stream.written()));
  }

  @Test
  void serverSaysNothingBeforeItsSideIsReady() {
    ScriptedTransport stream = script(clientStream(2));
    ScriptedServer server =
        new ScriptedServer(2, Fixtures.offer(RailDialect.READ_ONLY, 2, 1)) {
          @Override
          public ServerFrame prepare(int rails) throws IOException {
            throw new IOException("memory ceiling");
          }
        };
    HandshakeException e =
        assertThrows(
            HandshakeException.class, () -> over(stream, RailDialect.READ_ONLY).accept(server));
    assertEquals(Reason.LOCAL_FAULT, e.reason());
    assertEquals(0, stream.writes());
  }

  @Test
  void serverRefusesItsOwnWrongOffer() {
    ServerFrame tooMany = Fixtures.offer(RailDialect.READ_ONLY, 3, 1);
    ServerFrame zeroKey = rw(new RemoteQp(1, 1, new Gid(1, 2)), new Region(0x1000, 0));
    ServerFrame other = Fixtures.offer(RailDialect.READ_WRITE, 2, 1);
    HandshakeException pairing =
        assertThrows(HandshakeException.class, () -> serve(tooMany, RailDialect.READ_ONLY, 2));
    assertEquals(Reason.PAIRING_MISMATCH, pairing.reason());
    HandshakeException local =
        assertThrows(HandshakeException.class, () -> serve(zeroKey, RailDialect.READ_WRITE, 1));
    assertEquals(Reason.LOCAL_FAULT, local.reason());
    assertThrows(IllegalArgumentException.class, () -> serve(other, RailDialect.READ_ONLY, 2));
  }

  @Test
  void serverNamesTheFieldThatTheClientOwed() {
    String whole = clientStream(1);
    for (int k = 0; k < whole.length() / 2; k++) {
      ScriptedTransport stream = script(whole.substring(0, 2 * k));
      ScriptedServer server = new ScriptedServer(1, Fixtures.offer(RailDialect.READ_ONLY, 1, 1));
      HandshakeException e =
          assertThrows(
              HandshakeException.class, () -> over(stream, RailDialect.READ_ONLY).accept(server));
      String field =
          k < 2 ? "railCount" : k < 6 ? "rail[0].qpn" : k < 10 ? "rail[0].psn" : "rail[0].gid";
      assertEquals(Reason.TRUNCATED, e.reason());
      assertEquals(field, e.field(), "after " + k + " bytes");
      ScriptedTransport broken =
          script(whole.substring(0, 2 * k)).thenFail(new SocketException("Connection reset"));
      HandshakeException reset =
          assertThrows(
              HandshakeException.class, () -> over(broken, RailDialect.READ_ONLY).accept(server));
      assertEquals(e.getMessage(), reset.getMessage());
    }
  }

  @Test
  void preamblesAreReadExactlyAndWrittenAtOnce() throws Exception {
    ByteBuffer json = ByteBuffer.wrap("{\"layers\":80}".getBytes(StandardCharsets.UTF_8));
    ModelRequest request = new ModelRequest("org/model");
    ScriptedTransport stream =
        script(hex(request.encode()) + hex(ManifestDialect.WEIGHT.encode(json)) + "01" + "ff");
    HandshakeConnection connection = over(stream, RailDialect.READ_ONLY);
    assertEquals(
        request, connection.receive(MessageFormat.of(ModelRequest::missing, ModelRequest::decode)));
    assertEquals(
        json,
        connection.receive(
            MessageFormat.of(ManifestDialect.WEIGHT::missing, ManifestDialect.WEIGHT::decode)));
    assertEquals(
        TransportMode.VERBS,
        connection.receive(MessageFormat.ofLength(TransportMode.BYTES, TransportMode::decode)));
    PagingHeader header = new PagingHeader(PagingKind.KV, 8192, 4096);
    connection.send(header.encode());
    assertEquals(header.encode(), stream.written());
    assertEquals(1, stream.writes());
  }

  @Test
  void refusedPreambleSaysWhyAndReadsNoFurther() {
    ScriptedTransport stream = script("0100000045474150" + "00".repeat(17));
    HandshakeException e =
        assertThrows(
            HandshakeException.class,
            () ->
                over(stream, RailDialect.READ_WRITE)
                    .receive(MessageFormat.of(PagingHeader::missing, PagingHeader::decode)));
    assertEquals(Reason.MAGIC_RETIRED, e.reason());
    assertEquals(8, stream.consumedBytes());
    assertTrue(stream.isClosed());
  }

  @Test
  void announcedLengthReservesNoMemory() {
    ScriptedTransport stream = script("00000010" + "7b");
    HandshakeException e =
        assertThrows(
            HandshakeException.class,
            () ->
                over(stream, RailDialect.READ_ONLY)
                    .receive(
                        MessageFormat.of(
                            ManifestDialect.WEIGHT::missing, ManifestDialect.WEIGHT::decode)));
    assertEquals(Reason.TRUNCATED, e.reason());
    assertEquals("manifest", e.field());
  }

  @Test
  void packetNumbersAreFreshAndOf24Bits() {
    PacketNumbers numbers = new PacketNumbers();
    Set<Integer> seen = new HashSet<>();
    for (int i = 0; i < 1_000; i++) {
      int psn = numbers.next();
      assertEquals(0, psn >>> 24);
      seen.add(psn);
    }
    assertTrue(seen.size() > 990, seen.size() + " of 1000 differ");
  }

  @Test
  void queuePairNumbersAreCheckedOnThisSideToo() {
    Gid gid = new Gid(1, 2);
    assertThrows(IllegalArgumentException.class, () -> new LocalQueuePair(1 << 24, 0, gid));
    assertThrows(IllegalArgumentException.class, () -> new LocalQueuePair(0, -1, gid));
    assertThrows(IllegalArgumentException.class, () -> new RemoteQueuePair(1, 1, Gid.ZERO));
  }

  private static HandshakeException refused(ScriptedTransport stream, RailDialect dialect) {
    ScriptedClient client = new ScriptedClient(Fixtures.locals(2));
    HandshakeException e =
        assertThrows(HandshakeException.class, () -> over(stream, dialect).connect(client));
    assertTrue(stream.isClosed());
    return e;
  }

  private static void serve(ServerFrame offer, RailDialect dialect, int rails)
      throws HandshakeException {
    over(script(clientStream(rails)), dialect).accept(new ScriptedServer(rails, offer));
  }

  private static String clientStream(int rails) {
    ClientRailFrame frame =
        new ClientRailFrame(
            Fixtures.locals(rails).stream().map(LocalQueuePair::toClientRecord).toList());
    return "0" + rails + hex(frame.encode());
  }

  private static ServerFrame rw(RemoteQp qp, Region region) {
    return new RwRailFrame(List.of(new RwServerRecord(qp, region)));
  }

  private static ScriptedTransport script(String hex) {
    return new ScriptedTransport(bytes(hex), 7);
  }

  private static HandshakeConnection over(ScriptedTransport stream, RailDialect dialect) {
    return HandshakeConnection.over(stream, terms(dialect, LONG));
  }
}
