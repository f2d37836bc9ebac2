package org.metrale.gpu.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.metrale.gpu.wire.GoldenVectors.bytes;
import static org.metrale.gpu.wire.GoldenVectors.hex;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.metrale.gpu.wire.WireFormatException.Kind;

class WireGoldenTest {
  static Stream<JsonNode> transcripts() {
    return GoldenVectors.entries("transcripts");
  }

  static Stream<JsonNode> frameRejects() {
    return GoldenVectors.entries("rejects")
        .filter(reject -> reject.path("reader").textValue().endsWith("ServerFrame"));
  }

  static Stream<JsonNode> writeRejects() {
    return GoldenVectors.entries("writeRejects");
  }

  static Stream<JsonNode> truncations() {
    return StreamSupport.stream(
        GoldenVectors.part("truncations").path("frames").spliterator(), false);
  }

  static Stream<JsonNode> pagingRejects() {
    JsonNode preambles = GoldenVectors.part("preambles");
    return Stream.concat(
        StreamSupport.stream(preambles.path("pagingRejects").spliterator(), false),
        StreamSupport.stream(preambles.path("pagingServerRejects").spliterator(), false));
  }

  @Test
  void clientRecordIsTheVectorBothWays() throws Exception {
    JsonNode vector = GoldenVectors.part("records").path(0);
    ClientRecord record = GoldenVectors.client(vector.path("value"));
    assertEquals(vector.path("hex").textValue(), hex(record.encode()));
    assertEquals(record, ClientRecord.decode(bytes(vector.path("hex"))));
  }

  @Test
  void readOnlyRecordIsTheVectorBothWays() throws Exception {
    JsonNode vector = GoldenVectors.part("records").path(1);
    RoServerRecord record = GoldenVectors.roServer(vector.path("value"));
    assertEquals(vector.path("hex").textValue(), hex(record.encode()));
    assertEquals(record, RoServerRecord.decode(bytes(vector.path("hex"))));
  }

  @Test
  void readWriteRecordOfAllOnesIsTheVectorBothWays() throws Exception {
    JsonNode vector = GoldenVectors.part("records").path(2);
    RwServerRecord record = GoldenVectors.rwServer(vector.path("value"));
    assertEquals(vector.path("hex").textValue(), hex(record.encode()));
    assertEquals(record, RwServerRecord.decode(bytes(vector.path("hex"))));
  }

  @ParameterizedTest
  @MethodSource("transcripts")
  void flightsOfATranscriptAreTheVectorsBothWays(JsonNode transcript) throws Exception {
    int rails = transcript.path("rails").intValue();
    ServerFrame server = GoldenVectors.serverFrame(transcript);
    ClientRailFrame client = new ClientRailFrame(GoldenVectors.clients(transcript));
    List<String> steps =
        StreamSupport.stream(transcript.path("steps").spliterator(), false)
            .map(step -> step.path("hex").textValue())
            .toList();
    assertEquals(
        steps,
        List.of(
            hex(new RailCount(rails).encode()),
            hex(server.encode()),
            hex(client.encode()),
            hex(AckStatus.OK.encode())));
    assertEquals(rails, RailCount.decode(bytes(steps.get(0))).rails());
    assertEquals(server, server.dialect().decode(bytes(steps.get(1)), rails));
    assertEquals(client, ClientRailFrame.decode(bytes(steps.get(2)), rails));
    assertEquals(AckStatus.OK, AckStatus.decode(bytes(steps.get(3))));
  }

  @ParameterizedTest
  @MethodSource("frameRejects")
  void refusesTheVectorAfterExactlyItsBytes(JsonNode reject) {
    int wanted = reject.path("want").intValue();
    RailDialect dialect = dialectOf(reject);
    OneByOne fed =
        OneByOne.feed(bytes(reject.path("inputHex")), soFar -> dialect.missing(soFar, wanted));
    WireFormatException onTheWay =
        fed.refusal()
            .orElseGet(
                () ->
                    assertThrows(
                        WireFormatException.class, () -> dialect.decode(fed.taken(), wanted)));
    WireFormatException whole =
        assertThrows(
            WireFormatException.class,
            () -> dialect.decode(bytes(reject.path("inputHex")), wanted));
    assertEquals(reject.path("kind").textValue(), onTheWay.kind().name());
    assertEquals(onTheWay.kind(), whole.kind());
    assertEquals(reject.path("bytesConsumed").intValue(), fed.taken().remaining());
    if (reject.has("field")) {
      assertEquals(reject.path("field").textValue(), whole.field());
    }
    if (reject.has("count")) {
      assertEquals(reject.path("count").asText(), whole.got());
    }
  }

  @ParameterizedTest
  @MethodSource("truncations")
  void everyTruncationNamesTheFieldThatWasDue(JsonNode vector) {
    RailDialect dialect = dialectOf(vector);
    int wanted = vector.path("want").intValue();
    ByteBuffer frame = bytes(vector.path("frameHex"));
    for (JsonNode field : vector.path("fields")) {
      for (int k = field.path("start").intValue(); k < field.path("end").intValue(); k++) {
        ByteBuffer cut = frame.duplicate().limit(k);
        WireFormatException e =
            assertThrows(WireFormatException.class, () -> dialect.decode(cut, wanted));
        assertEquals(Kind.TRUNCATED, e.kind(), "after " + k + " bytes");
        assertEquals(field.path("field").textValue(), e.field(), "after " + k + " bytes");
      }
    }
  }

  @Test
  void acceptsTheLargestRegionTable() throws Exception {
    String prefix = GoldenVectors.part("accepts").path(1).path("prefixHex").textValue();
    ByteBuffer frame = ByteBuffer.allocate(49_181).put(bytes(prefix)).rewind();
    RoRailFrame read = RoRailFrame.decode(frame, 1);
    assertEquals(
        Collections.nCopies(WireCounts.MAX_REGIONS, new Region(0, 0)),
        read.rails().get(0).regions());
  }

  @Test
  void refusesNineReadWriteRailsAsOutOfRange() {
    ByteBuffer frame = bytes(GoldenVectors.part("accepts").path(0).path("inputHex"));
    WireFormatException e =
        assertThrows(WireFormatException.class, () -> RwRailFrame.decode(frame, 9));
    assertEquals(Kind.RAIL_COUNT_OUT_OF_RANGE, e.kind());
  }

  @ParameterizedTest
  @MethodSource("writeRejects")
  void writesWhatTheVectorAllowsAndNothingElse(JsonNode vector) {
    boolean isCount = vector.path("writer").textValue().equals("railCount");
    Supplier<ByteBuffer> written =
        isCount
            ? () -> new RailCount(vector.path("n").intValue()).encode()
            : () ->
                RailFrameTest.frame(RailDialect.READ_ONLY, vector.path("rails").intValue())
                    .encode();
    if (vector.has("firstByteHex")) {
      assertEquals(vector.path("firstByteHex").textValue(), hex(written.get().limit(1)));
      return;
    }
    String kind =
        isCount
            ? vector.path("strict").textValue().split(",", 2)[0]
            : vector.path("kind").textValue();
    IllegalArgumentException e = assertThrows(IllegalArgumentException.class, written::get);
    assertEquals(kind, ((WireFormatException) e.getCause()).kind().name());
  }

  @Test
  void pagingHeadersAreTheVectorsBothWays() throws Exception {
    for (JsonNode vector : GoldenVectors.part("preambles").path("paging")) {
      PagingHeader header =
          new PagingHeader(
              new PagingKind(vector.path("kind").intValue()),
              vector.path("arenaBytes").longValue(),
              vector.path("blobBytes").longValue());
      assertEquals(vector.path("hex").textValue(), hex(header.encode()));
      assertEquals(header, PagingHeader.decode(bytes(vector.path("hex"))));
    }
  }

  @ParameterizedTest
  @MethodSource("pagingRejects")
  void refusesThePagingVector(JsonNode reject) {
    OneByOne fed = OneByOne.feed(bytes(reject.path("hex")), PagingHeader::missing);
    WireFormatException e =
        fed.refusal()
            .orElseGet(
                () ->
                    assertThrows(
                        WireFormatException.class,
                        () -> PagingHeader.decode(fed.taken()).requireServable(true)));
    assertEquals(reject.path("kind").textValue(), e.kind().name());
    assertEquals(reject.path("bytesConsumed").asInt(PagingHeader.BYTES), fed.taken().remaining());
  }

  @Test
  void constantsAreTheVectors() {
    JsonNode constants = GoldenVectors.part("constants");
    assertEquals(constants.path("STATUS_OK").intValue(), AckStatus.OK.code());
    assertEquals(constants.path("STATUS_ERR").intValue(), AckStatus.ERR.code());
    assertEquals(constants.path("MODE_TCP").intValue(), TransportMode.TCP.code());
    assertEquals(constants.path("MODE_VERBS").intValue(), TransportMode.VERBS.code());
    assertEquals(constants.path("roMaxRails").intValue(), WireCounts.MAX_RAILS);
    assertEquals(constants.path("rwCountByteMax").intValue(), WireCounts.MAX_COUNT_BYTE);
    assertEquals(constants.path("maxRegions").intValue(), WireCounts.MAX_REGIONS);
    assertEquals(constants.path("clientRecordBytes").intValue(), ClientRecord.BYTES);
    assertEquals(constants.path("rwServerRecordBytes").intValue(), RwServerRecord.BYTES);
    assertEquals(
        constants.path("roServerRecordHeaderBytes").intValue(), RoServerRecord.HEADER_BYTES);
    assertEquals(constants.path("roRegionBytes").intValue(), Region.BYTES);
    assertEquals(hexOf(constants, "pagingMagicV2Hex"), PagingHeader.MAGIC);
    assertEquals(hexOf(constants, "pagingMagicV1RetiredHex"), PagingHeader.RETIRED_MAGIC);
    assertEquals(constants.path("pagingHeaderBytes").intValue(), PagingHeader.BYTES);
    assertEquals(constants.path("pagingKindSSM").intValue(), PagingKind.SSM.code());
    assertEquals(constants.path("pagingKindKV").intValue(), PagingKind.KV.code());
    assertEquals(constants.path("maxArenaBytes").longValue(), PagingHeader.MAX_ARENA_BYTES);
    assertEquals(constants.path("modelRequestMaxBytes").intValue(), ModelRequest.MAX_BYTES);
    assertEquals(
        constants.path("weightManifestMaxBytes").intValue(), ManifestDialect.WEIGHT.maxBytes());
    assertEquals(
        constants.path("expertManifestMaxBytes").intValue(), ManifestDialect.EXPERT.maxBytes());
    assertEquals(constants.path("ncclUniqueIdBytes").intValue(), NcclBootstrap.BYTES);
  }

  @Test
  void pagingCodesAreTheVectors() {
    JsonNode constants = GoldenVectors.part("constants");
    assertEquals(constants.path("opBye").intValue(), PagingOp.BYE.code());
    assertEquals(constants.path("opAlloc").intValue(), PagingOp.ALLOC.code());
    assertEquals(constants.path("opCommit").intValue(), PagingOp.COMMIT.code());
    assertEquals(constants.path("opGet").intValue(), PagingOp.GET.code());
    assertEquals(constants.path("opRemove").intValue(), PagingOp.REMOVE.code());
    assertEquals(constants.path("stOk").intValue(), PagingStatus.OK.code());
    assertEquals(constants.path("stMiss").intValue(), PagingStatus.MISS.code());
    assertEquals(constants.path("stErr").intValue(), PagingStatus.ERR.code());
  }

  @Test
  void everyErrorKindOfTheCodecHasAKindOfItsOwn() {
    Set<String> ofTheHandshake =
        Set.of("PEER_REJECTED", "ACK_REFUSED", "PAIRING_MISMATCH", "RAILS_UNAVAILABLE");
    Set<String> kinds = Stream.of(Kind.values()).map(Kind::name).collect(Collectors.toSet());
    GoldenVectors.part("errorKinds")
        .fieldNames()
        .forEachRemaining(
            name -> assertEquals(!ofTheHandshake.contains(name), kinds.contains(name), name));
  }

  private static RailDialect dialectOf(JsonNode vector) {
    return vector.path("reader").textValue().startsWith("ro")
        ? RailDialect.READ_ONLY
        : RailDialect.READ_WRITE;
  }

  private static long hexOf(JsonNode constants, String name) {
    return Long.parseUnsignedLong(constants.path(name).textValue(), 16);
  }
}
