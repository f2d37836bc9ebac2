package org.metrale.gpu.wire;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.metrale.gpu.wire.GoldenVectors.bytes;
import static org.metrale.gpu.wire.GoldenVectors.hex;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.metrale.gpu.wire.WireFormatException.Kind;

class PreambleTest {
  @Test
  void refusesAPagingKindAfterItsByte() {
    ByteBuffer header = new PagingHeader(PagingKind.KV, 4096, 0).encode();
    header.put(PagingHeader.KIND_OFFSET, (byte) 2);
    OneByOne fed = OneByOne.feed(header, PagingHeader::missing);
    assertEquals(Kind.KIND_UNSUPPORTED, fed.refusal().orElseThrow().kind());
    assertEquals(9, fed.taken().remaining());
  }

  @Test
  void writesNoPagingKindThatNoReaderTakes() {
    PagingKind unknown = new PagingKind(2);
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> new PagingHeader(unknown, 1, 0));
    assertEquals(Kind.KIND_UNSUPPORTED, kindOf(e));
  }

  @ParameterizedTest
  @CsvSource({
    "0,0,true,ARENA_OUT_OF_RANGE",
    "4398046511105,0,true,ARENA_OUT_OF_RANGE",
    "-1,0,true,ARENA_OUT_OF_RANGE",
    "4097,4096,true,ARENA_NOT_MULTIPLE",
    "4096,-1,true,ARENA_NOT_MULTIPLE",
    "4097,4096,false,ARENA_NOT_MULTIPLE",
    "8192,4096,false,PAGING_UNAVAILABLE"
  })
  void saysWhyAnArenaCannotBeServed(long arena, long blob, boolean paging, Kind kind) {
    PagingHeader header = new PagingHeader(PagingKind.SSM, arena, blob);
    WireFormatException e =
        assertThrows(WireFormatException.class, () -> header.requireServable(paging));
    assertEquals(kind, e.kind());
  }

  @ParameterizedTest
  @CsvSource({"1,0,false", "4398046511104,0,false", "4398046511104,4096,true", "4096,4096,true"})
  void servesArenasUpToTheLimit(long arena, long blob, boolean paging) throws Exception {
    PagingHeader header = new PagingHeader(PagingKind.SSM, arena, blob);
    assertEquals(header, header.requireServable(paging));
  }

  @Test
  void everyPagingHeaderTruncationIsRefused() {
    ByteBuffer header = new PagingHeader(PagingKind.KV, 8192, 4096).encode();
    for (int k = 0; k < header.limit(); k++) {
      ByteBuffer cut = header.duplicate().limit(k);
      WireFormatException e =
          assertThrows(WireFormatException.class, () -> PagingHeader.decode(cut));
      assertEquals(Kind.TRUNCATED, e.kind());
    }
  }

  @Test
  void pagingRequestIsNineBytes() throws Exception {
    PagingRequest get = new PagingRequest(PagingOp.GET, 0x1122_3344_5566_7788L);
    assertEquals("038877665544332211", hex(get.encode()));
    assertEquals(get, PagingRequest.decode(get.encode()));
  }

  @Test
  void farewellIsCompleteAfterItsFirstByte() throws Exception {
    assertEquals(0, PagingRequest.missing(bytes("00")));
    assertEquals(new PagingRequest(PagingOp.BYE, 0), PagingRequest.decode(bytes("00")));
    assertEquals(8, PagingRequest.missing(bytes("01")));
  }

  @Test
  void unknownOperationsAndStatusesKeepTheirNumber() throws Exception {
    assertEquals("PagingOp(77)", PagingRequest.decode(bytes("4d0000000000000000")).op().toString());
    assertEquals(200, PagingReply.decode(bytes("c8"), PagingOp.GET).status().code());
    assertEquals("AckStatus(9)", AckStatus.decode(bytes("09")).toString());
    assertFalse(AckStatus.decode(bytes("ff")).isOk());
  }

  @ParameterizedTest
  @CsvSource({
    "1,000807060504030201,true",
    "3,000807060504030201,true",
    "2,00,false",
    "4,00,false",
    "3,01,false",
    "1,02,false",
    "9,02,false"
  })
  void onlySuccessOfAllocAndGetHasAnOffset(int op, String hex, boolean offset) throws Exception {
    PagingOp asked = new PagingOp(op);
    OneByOne fed = OneByOne.feed(bytes(hex), soFar -> PagingReply.missing(soFar, asked));
    PagingReply reply = PagingReply.decode(fed.taken(), asked);
    assertTrue(fed.complete());
    assertEquals(offset, reply.offsetBytes().isPresent());
    assertEquals(hex, hex(reply.encode(asked)));
  }

  @Test
  void writesNoReplyThatItsReaderWouldMisread() {
    PagingReply at = PagingReply.at(4096);
    PagingReply ok = PagingReply.of(PagingStatus.OK);
    assertThrows(IllegalArgumentException.class, () -> at.encode(PagingOp.COMMIT));
    assertThrows(IllegalArgumentException.class, () -> ok.encode(PagingOp.ALLOC));
    assertThrows(
        IllegalArgumentException.class, () -> new PagingReply(PagingStatus.MISS, at.offsetBytes()));
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 8191, 8192})
  void keepsModelNamesUpToTheLimit(int length) throws Exception {
    ModelRequest request = new ModelRequest("m".repeat(length));
    assertEquals(request, ModelRequest.decode(request.encode()));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 8193})
  void refusesModelNamesBeyondTheLimitBothWays(int length) {
    IllegalArgumentException written =
        assertThrows(IllegalArgumentException.class, () -> new ModelRequest("m".repeat(length)));
    ByteBuffer prefix = ByteBuffer.allocate(4).putInt(0, Integer.reverseBytes(length));
    WireFormatException read =
        assertThrows(WireFormatException.class, () -> ModelRequest.missing(prefix));
    assertEquals(Kind.LENGTH_OUT_OF_RANGE, kindOf(written));
    assertEquals(Kind.LENGTH_OUT_OF_RANGE, read.kind());
  }

  @Test
  void countsAModelNameInBytes() throws Exception {
    ModelRequest request = new ModelRequest("\u00e9\u20ac");
    assertEquals("05000000c3a9e282ac", hex(request.encode()));
    assertEquals(request, ModelRequest.decode(request.encode()));
  }

  @ParameterizedTest
  @ValueSource(strings = {"01000000ff", "02000000c320", "03000000eda080", "02000000c080"})
  void refusesModelNamesThatAreNotUtf8(String hex) {
    WireFormatException e =
        assertThrows(WireFormatException.class, () -> ModelRequest.decode(bytes(hex)));
    assertEquals(Kind.NOT_UTF8, e.kind());
  }

  @Test
  void writesNoLoneSurrogate() {
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> new ModelRequest("a\ud800"));
    assertEquals(Kind.NOT_UTF8, kindOf(e));
  }

  @ParameterizedTest
  @EnumSource(ManifestDialect.class)
  void refusesAManifestLengthBeforeReadingIt(ManifestDialect dialect) {
    for (int length : new int[] {0, dialect.maxBytes() + 1, -1}) {
      ByteBuffer prefix = ByteBuffer.allocate(4).putInt(0, Integer.reverseBytes(length));
      WireFormatException e =
          assertThrows(WireFormatException.class, () -> dialect.missing(prefix));
      assertEquals(Kind.LENGTH_OUT_OF_RANGE, e.kind());
    }
  }

  @ParameterizedTest
  @EnumSource(ManifestDialect.class)
  void wantsTheLargestManifest(ManifestDialect dialect) throws Exception {
    ByteBuffer prefix = ByteBuffer.allocate(4);
    prefix.putInt(0, Integer.reverseBytes(dialect.maxBytes()));
    assertEquals(dialect.maxBytes(), dialect.missing(prefix));
  }

  @Test
  void keepsAManifestAndRefusesEveryOtherLength() throws Exception {
    ByteBuffer json = ByteBuffer.wrap("{\"version\":1}".getBytes(StandardCharsets.UTF_8));
    ByteBuffer whole = ManifestDialect.EXPERT.encode(json);
    assertEquals(json, ManifestDialect.EXPERT.decode(whole));
    for (int k = 0; k < whole.limit(); k++) {
      ByteBuffer cut = whole.duplicate().limit(k);
      assertThrows(WireFormatException.class, () -> ManifestDialect.EXPERT.decode(cut));
    }
    ByteBuffer longer = RailFrameTest.oneMore(whole);
    assertThrows(WireFormatException.class, () -> ManifestDialect.EXPERT.decode(longer));
    ByteBuffer empty = ByteBuffer.allocate(0);
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> ManifestDialect.WEIGHT.encode(empty));
    assertEquals(Kind.LENGTH_OUT_OF_RANGE, kindOf(e));
  }

  @Test
  void servesOnlyTheModesItOffers() throws Exception {
    TransportMode verbs = TransportMode.decode(bytes("01"));
    TransportMode tcp = TransportMode.decode(bytes("00"));
    TransportMode unknown = TransportMode.decode(bytes("02"));
    Set<TransportMode> served = Set.of(TransportMode.VERBS);
    assertEquals(TransportMode.VERBS, verbs.require(served));
    for (TransportMode refused : List.of(tcp, unknown)) {
      WireFormatException e =
          assertThrows(WireFormatException.class, () -> refused.require(served));
      assertEquals(Kind.MODE_UNKNOWN, e.kind());
    }
  }

  @Test
  void bootstrapCarriesTheIdAndHidesIt() throws Exception {
    byte[] id = new byte[NcclBootstrap.BYTES];
    new Random(5).nextBytes(id);
    NcclBootstrap message = NcclBootstrap.of(id);
    assertArrayEquals(id, NcclBootstrap.decode(message.encode()).uniqueId());
    assertEquals(message, NcclBootstrap.decode(message.encode()));
    assertNotEquals(message, NcclBootstrap.of(new byte[NcclBootstrap.BYTES]));
    assertEquals("NcclBootstrap[128 bytes]", message.toString());
    ByteBuffer cut = message.encode().limit(127);
    assertThrows(WireFormatException.class, () -> NcclBootstrap.decode(cut));
    assertThrows(IllegalArgumentException.class, () -> NcclBootstrap.of(new byte[127]));
  }

  @Test
  void oneByteMessagesRefuseNoneAndTwo() {
    for (String hex : List.of("", "0001")) {
      assertThrows(WireFormatException.class, () -> AckStatus.decode(bytes(hex)));
      assertThrows(WireFormatException.class, () -> TransportMode.decode(bytes(hex)));
      assertThrows(WireFormatException.class, () -> RailCount.decode(bytes(hex)));
    }
  }

  private static Kind kindOf(IllegalArgumentException e) {
    return assertInstanceOf(WireFormatException.class, e.getCause()).kind();
  }
}
