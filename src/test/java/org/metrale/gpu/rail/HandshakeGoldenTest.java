package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.metrale.gpu.rail.Fixtures.NOW;
import static org.metrale.gpu.rail.Fixtures.PEER;
import static org.metrale.gpu.rail.Fixtures.receive;
import static org.metrale.gpu.rail.Fixtures.steps;
import static org.metrale.gpu.rail.Fixtures.terms;
import static org.metrale.gpu.wire.GoldenVectors.bytes;
import static org.metrale.gpu.wire.GoldenVectors.hex;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.metrale.gpu.rail.HandshakeEvent.Connected;
import org.metrale.gpu.rail.HandshakeEvent.Prepared;
import org.metrale.gpu.rail.HandshakeEvent.Sent;
import org.metrale.gpu.rail.HandshakeException.Reason;
import org.metrale.gpu.wire.GoldenVectors;
import org.metrale.gpu.wire.RailDialect;
import org.metrale.gpu.wire.ServerFrame;

class HandshakeGoldenTest {
  static Stream<JsonNode> transcripts() {
    return GoldenVectors.entries("transcripts");
  }

  static Stream<JsonNode> frameRejects() {
    return GoldenVectors.entries("rejects").filter(HandshakeGoldenTest::isOfAFrame);
  }

  static Stream<JsonNode> ackRejects() {
    return GoldenVectors.entries("rejects").filter(reject -> !isOfAFrame(reject));
  }

  @ParameterizedTest
  @MethodSource("transcripts")
  void clientSpeaksTheTranscript(JsonNode transcript) throws Exception {
    List<String> steps = steps(transcript);
    ServerFrame offer = GoldenVectors.serverFrame(transcript);
    for (int pieceBytes : new int[] {1, 3, Integer.MAX_VALUE}) {
      ClientHandshake state =
          ClientHandshake.begin(
              terms(GoldenVectors.dialect(transcript)), Fixtures.locals(transcript));
      assertEquals(steps.get(0), hex(state.flight().orElseThrow()));
      state = receive(state.on(new Sent(), NOW), bytes(steps.get(1)), pieceBytes);
      state = state.on(new Connected(), NOW);
      assertEquals(steps.get(2), hex(state.flight().orElseThrow()));
      state = receive(state.on(new Sent(), NOW), bytes(steps.get(3)), pieceBytes);
      assertEquals(new ClientHandshake.Established(offer, Fixtures.remotes(offer)), state);
    }
  }

  @ParameterizedTest
  @MethodSource("transcripts")
  void serverSpeaksTheTranscript(JsonNode transcript) {
    List<String> steps = steps(transcript);
    int rails = transcript.path("rails").intValue();
    for (int pieceBytes : new int[] {1, 3, Integer.MAX_VALUE}) {
      ServerHandshake state =
          ServerHandshake.begin(terms(GoldenVectors.dialect(transcript)), rails);
      state = receive(state, bytes(steps.get(0)), pieceBytes);
      assertEquals(rails, assertInstanceOf(ServerHandshake.Preparing.class, state).rails());
      state = state.on(new Prepared(GoldenVectors.serverFrame(transcript)), NOW);
      assertEquals(steps.get(1), hex(state.flight().orElseThrow()));
      state = receive(state.on(new Sent(), NOW), bytes(steps.get(2)), pieceBytes);
      state = state.on(new Connected(), NOW);
      assertEquals(steps.get(3), hex(state.flight().orElseThrow()));
      assertEquals(
          new ServerHandshake.Established(Fixtures.remotes(Fixtures.locals(transcript))),
          state.on(new Sent(), NOW));
    }
  }

  @ParameterizedTest
  @MethodSource("transcripts")
  void clientReadsOnlyAfterWhatItMustHaveWritten(JsonNode transcript) throws Exception {
    ScriptedTransport stream =
        new ScriptedTransport(bytes(transcript.path("serverStreamHex")), Integer.MAX_VALUE);
    connect(stream, GoldenVectors.dialect(transcript), Fixtures.locals(transcript));
    assertEquals(transcript.path("clientStreamHex").textValue(), hex(stream.written()));
    Set<Integer> allowed =
        Set.of(
            transcript.path("clientReadsOnlyAfterWriting").path(0).intValue(),
            transcript.path("clientReadsOnlyAfterWriting").path(1).intValue());
    assertEquals(allowed, stream.writtenAtReads());
    assertEquals(2, stream.writes());
  }

  @ParameterizedTest
  @MethodSource("transcripts")
  void serverAnswersWithOneWriteAFlight(JsonNode transcript) throws Exception {
    ScriptedTransport stream = new ScriptedTransport(bytes(transcript.path("clientStreamHex")), 1);
    Fixtures.ScriptedServer rails =
        new Fixtures.ScriptedServer(8, GoldenVectors.serverFrame(transcript));
    HandshakeConnection.over(
            stream, terms(GoldenVectors.dialect(transcript), Duration.ofMinutes(1)))
        .accept(rails);
    assertEquals(transcript.path("serverStreamHex").textValue(), hex(stream.written()));
    assertEquals(2, stream.writes());
    assertEquals(Fixtures.remotes(Fixtures.locals(transcript)), rails.connected);
  }

  @ParameterizedTest
  @MethodSource("frameRejects")
  void clientRefusesTheFrameAfterExactlyItsBytes(JsonNode reject) {
    ScriptedTransport stream = new ScriptedTransport(bytes(reject.path("inputHex")), 7);
    RailDialect dialect = dialectOf(reject);
    HandshakeException e =
        assertThrows(
            HandshakeException.class,
            () -> connect(stream, dialect, Fixtures.locals(reject.path("want").intValue())));
    assertEquals(reject.path("kind").textValue(), e.reason().name());
    assertEquals(reject.path("bytesConsumed").intValue(), stream.consumedBytes());
    assertEquals(1, stream.written().remaining(), "nothing more is sent");
    assertTrue(e.getMessage().startsWith(PEER), e.getMessage());
    assertTrue(stream.isClosed());
    if (reject.has("field")) {
      assertEquals(reject.path("field").textValue(), e.field());
    }
    if (reject.has("got")) {
      assertEquals(reject.path("got").asText(), e.got());
      assertEquals(reject.path("want").asText(), e.wanted());
    }
  }

  @ParameterizedTest
  @MethodSource("ackRejects")
  void clientRefusesTheAcknowledgement(JsonNode reject) {
    JsonNode transcript = GoldenVectors.part("transcripts").path(0);
    ByteBuffer offer = bytes(steps(transcript).get(1));
    ByteBuffer ack = bytes(reject.path("inputHex"));
    ByteBuffer input = ByteBuffer.allocate(offer.remaining() + ack.remaining());
    ScriptedTransport stream = new ScriptedTransport(input.put(offer).put(ack).flip(), 7);
    HandshakeException e =
        assertThrows(
            HandshakeException.class,
            () -> connect(stream, RailDialect.READ_ONLY, Fixtures.locals(transcript)));
    assertEquals(reject.path("kind").textValue(), e.reason().name());
    assertEquals("ack", e.field());
  }

  @Test
  void everyTruncationOfTheOfferNamesItsField() {
    for (JsonNode vector : GoldenVectors.part("truncations").path("frames")) {
      ByteBuffer frame = bytes(vector.path("frameHex"));
      for (JsonNode field : vector.path("fields")) {
        for (int k = field.path("start").intValue(); k < field.path("end").intValue(); k++) {
          ScriptedTransport stream = new ScriptedTransport(frame.duplicate().limit(k), 5);
          HandshakeException e =
              assertThrows(
                  HandshakeException.class,
                  () ->
                      connect(
                          stream,
                          dialectOf(vector),
                          Fixtures.locals(vector.path("want").intValue())));
          assertEquals(k == 0 ? Reason.PEER_REJECTED : Reason.TRUNCATED, e.reason());
          assertEquals(field.path("field").textValue(), e.field(), "after " + k + " bytes");
        }
      }
    }
  }

  @Test
  void pairingNamesPeerAndBothCounts() throws Exception {
    for (JsonNode vector : GoldenVectors.part("pairing")) {
      int rails = vector.path("rails").intValue();
      ServerFrame offer =
          Fixtures.offer(RailDialect.READ_WRITE, vector.path("server").intValue(), 1);
      if (vector.path("kind").isNull()) {
        assertEquals(rails, RailPairing.withServer(PEER, offer.rails(), rails).size());
        continue;
      }
      HandshakeException e =
          assertThrows(
              HandshakeException.class, () -> RailPairing.withServer(PEER, offer.rails(), rails));
      assertEquals(vector.path("kind").textValue(), e.reason().name());
      assertTrue(e.getMessage().matches(".*" + PEER + ".*2.*1.*"), e.getMessage());
    }
  }

  @Test
  void serverRefusesNoRailsWithoutAWord() {
    ScriptedTransport stream = new ScriptedTransport(bytes("00"), 1);
    HandshakeException e = assertThrows(HandshakeException.class, () -> accept(stream, 2));
    assertEquals(Reason.RAILS_UNAVAILABLE, e.reason());
    assertEquals(0, stream.written().remaining());
    assertTrue(stream.isClosed());
  }

  @Test
  void serverRefusesAChangedCountWithoutAnAcknowledgement() {
    JsonNode vector = GoldenVectors.part("serverSide").path(1);
    ScriptedTransport stream =
        new ScriptedTransport(bytes("02" + vector.path("secondFrameHex").textValue()), 64);
    HandshakeException e = assertThrows(HandshakeException.class, () -> accept(stream, 2));
    assertEquals(Reason.CLIENT_COUNT_MISMATCH, e.reason());
    assertEquals(Fixtures.offer(RailDialect.READ_WRITE, 2, 1).encode(), stream.written(), "no ack");
    assertEquals(2, stream.consumedBytes());
  }

  @Test
  void everyErrorKindHasAReasonOfItsOwn() {
    Set<String> reasons = Stream.of(Reason.values()).map(Reason::name).collect(Collectors.toSet());
    GoldenVectors.part("errorKinds")
        .fieldNames()
        .forEachRemaining(
            name -> assertTrue(name.equals("COUNT_NOT_ENCODABLE") || reasons.contains(name), name));
  }

  private static void connect(
      ScriptedTransport stream, RailDialect dialect, List<LocalQueuePair> locals)
      throws HandshakeException {
    HandshakeConnection.over(stream, terms(dialect, Duration.ofMinutes(1)))
        .connect(new Fixtures.ScriptedClient(locals));
  }

  private static void accept(ScriptedTransport stream, int available) throws HandshakeException {
    HandshakeConnection.over(stream, terms(RailDialect.READ_WRITE, Duration.ofMinutes(1)))
        .accept(
            new Fixtures.ScriptedServer(
                available, Fixtures.offer(RailDialect.READ_WRITE, available, 1)));
  }

  private static boolean isOfAFrame(JsonNode reject) {
    return reject.path("reader").textValue().endsWith("ServerFrame");
  }

  private static RailDialect dialectOf(JsonNode vector) {
    return vector.path("reader").textValue().startsWith("ro")
        ? RailDialect.READ_ONLY
        : RailDialect.READ_WRITE;
  }
}
