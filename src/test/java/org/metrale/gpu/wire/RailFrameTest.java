package org.metrale.gpu.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.metrale.gpu.wire.WireFormatException.Kind;

class RailFrameTest {
  private static final RemoteQp QP = new RemoteQp(0x11_2233, 0x44_5566, new Gid(7, 8));
  private static final Region REGION = new Region(0x7f00_1234_5000L, 0x9abc_def0L);

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 7, 8})
  void keepsEveryAllowedNumberOfRails(int rails) throws Exception {
    for (RailDialect dialect : RailDialect.values()) {
      ServerFrame frame = frame(dialect, rails);
      assertEquals(frame, dialect.decode(frame.encode(), rails));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 9, 256, 257})
  void writesNoFrameThatNoReaderTakes(int rails) {
    for (RailDialect dialect : RailDialect.values()) {
      IllegalArgumentException e =
          assertThrows(IllegalArgumentException.class, () -> frame(dialect, rails));
      assertEquals(Kind.RAIL_COUNT_OUT_OF_RANGE, kindOf(e));
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 9, 256})
  void writesNoClientFrameThatNoReaderTakes(int rails) {
    List<ClientRecord> records = Collections.nCopies(rails, new ClientRecord(QP));
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> new ClientRailFrame(records));
    assertEquals(Kind.RAIL_COUNT_OUT_OF_RANGE, kindOf(e));
  }

  @ParameterizedTest
  @ValueSource(ints = {-1, 256, 257, 512})
  void refusesACountThatItsByteCannotCarry(int rails) {
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> new RailCount(rails));
    assertEquals(Kind.COUNT_NOT_ENCODABLE, kindOf(e));
  }

  @Test
  void asksForNoRailsOnlyByRefusing() {
    RailCount none = new RailCount(0);
    IllegalArgumentException e = assertThrows(IllegalArgumentException.class, none::encode);
    assertEquals(Kind.COUNT_NOT_ENCODABLE, kindOf(e));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 4097, 5000})
  void writesNoRegionTableThatNoReaderTakes(int regions) {
    List<Region> table = Collections.nCopies(regions, REGION);
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> new RoServerRecord(QP, table));
    assertEquals(Kind.REGION_COUNT_OUT_OF_RANGE, kindOf(e));
  }

  @ParameterizedTest
  @CsvSource({
    "0,1,RAIL_COUNT_OUT_OF_RANGE",
    "9,9,RAIL_COUNT_OUT_OF_RANGE",
    "2,1,RAIL_COUNT_MISMATCH"
  })
  void readOnlyReaderChecksTheRangeFirst(int got, int wanted, Kind kind) {
    assertEquals(kind, refusal(RailDialect.READ_ONLY, got, wanted));
  }

  @ParameterizedTest
  @CsvSource({
    "0,1,RAIL_COUNT_MISMATCH",
    "255,1,RAIL_COUNT_MISMATCH",
    "9,9,RAIL_COUNT_OUT_OF_RANGE",
    "0,0,RAIL_COUNT_OUT_OF_RANGE",
    "255,255,RAIL_COUNT_OUT_OF_RANGE"
  })
  void readWriteReaderChecksTheAgreementFirst(int got, int wanted, Kind kind) {
    assertEquals(kind, refusal(RailDialect.READ_WRITE, got, wanted));
  }

  @ParameterizedTest
  @EnumSource(RailDialect.class)
  void refusesOneByteTooMany(RailDialect dialect) {
    ByteBuffer longer = oneMore(frame(dialect, 2).encode());
    WireFormatException whole =
        assertThrows(WireFormatException.class, () -> dialect.decode(longer, 2));
    WireFormatException streamed =
        assertThrows(WireFormatException.class, () -> dialect.missing(longer, 2));
    assertEquals(
        List.of(Kind.TRAILING_BYTES, Kind.TRAILING_BYTES), List.of(whole.kind(), streamed.kind()));
  }

  @ParameterizedTest
  @EnumSource(RailDialect.class)
  void takesExactlyTheFrameOffAStream(RailDialect dialect) throws Exception {
    for (int rails = 1; rails <= WireCounts.MAX_RAILS; rails++) {
      int wanted = rails;
      ByteBuffer frame = frame(dialect, rails).encode();
      OneByOne fed = OneByOne.feed(oneMore(frame), soFar -> dialect.missing(soFar, wanted));
      assertTrue(fed.complete());
      assertEquals(frame, fed.taken());
    }
  }

  @ParameterizedTest
  @EnumSource(RailDialect.class)
  void refusesEveryTruncation(RailDialect dialect) {
    ByteBuffer frame = frame(dialect, 3).encode();
    for (int k = 0; k < frame.limit(); k++) {
      ByteBuffer cut = frame.duplicate().limit(k);
      WireFormatException e = assertThrows(WireFormatException.class, () -> dialect.decode(cut, 3));
      assertEquals(Kind.TRUNCATED, e.kind());
    }
  }

  @Test
  void clientFrameRefusesAnotherCountThanTheFirst() {
    ByteBuffer frame = new ClientRailFrame(List.of(new ClientRecord(QP))).encode();
    WireFormatException e =
        assertThrows(WireFormatException.class, () -> ClientRailFrame.decode(frame, 2));
    assertEquals(List.of("2", "1"), List.of(e.wanted(), e.got()));
    assertEquals(Kind.CLIENT_COUNT_MISMATCH, e.kind());
  }

  @Test
  void clientFrameNamesTheFieldOfEveryTruncation() {
    ByteBuffer frame =
        new ClientRailFrame(List.of(new ClientRecord(QP), new ClientRecord(QP))).encode();
    String[] fields = {"qpn", "psn", "gid"};
    int[] ends = {4, 8, 24};
    for (int k = 1; k < frame.limit(); k++) {
      ByteBuffer cut = frame.duplicate().limit(k);
      int within = (k - 1) % ClientRecord.BYTES;
      String field = within < ends[0] ? fields[0] : within < ends[1] ? fields[1] : fields[2];
      WireFormatException e =
          assertThrows(WireFormatException.class, () -> ClientRailFrame.decode(cut, 2));
      assertEquals("rail[" + (k - 1) / ClientRecord.BYTES + "]." + field, e.field());
    }
  }

  @Test
  void refusalsTellTheWholeFieldAndCostNoStackTrace() {
    ByteBuffer cut = frame(RailDialect.READ_ONLY, 3).encode();
    cut.limit(cut.limit() - 1);
    WireFormatException e =
        assertThrows(WireFormatException.class, () -> RailDialect.READ_ONLY.decode(cut, 3));
    assertEquals("rail[2].region[1].rkey: wanted 4 bytes, got 3 bytes and the end", e.getMessage());
    assertEquals(0, e.getStackTrace().length);
    IllegalArgumentException ours =
        assertThrows(IllegalArgumentException.class, () -> frame(RailDialect.READ_ONLY, 9));
    assertTrue(ours.getStackTrace().length > 0, "the caller's fault has one");
  }

  @Test
  void bothDialectsAnswerTheSameView() {
    ServerRecord readOnly = new RoServerRecord(QP, List.of(REGION));
    ServerRecord readWrite = new RwServerRecord(QP, REGION);
    assertEquals(readOnly.remoteQp(), readWrite.remoteQp());
    assertEquals(readOnly.regions(), readWrite.regions());
  }

  @Test
  void decodingLeavesThePositionAlone() throws Exception {
    ByteBuffer padded = ByteBuffer.allocate(3 + ClientRecord.BYTES);
    padded.position(3).put(new ClientRecord(QP).encode()).position(3);
    assertEquals(new ClientRecord(QP), ClientRecord.decode(padded));
    assertEquals(3, padded.position());
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, 0x1_0000_0000L})
  void refusesNumbersThatDoNotFitTheirField(long number) {
    assertThrows(IllegalArgumentException.class, () -> new RemoteQp(number, 0, Gid.ZERO));
    assertThrows(IllegalArgumentException.class, () -> new RemoteQp(0, number, Gid.ZERO));
    assertThrows(IllegalArgumentException.class, () -> new Region(0, number));
  }

  @Test
  void gidReadsInWireOrder() {
    Gid gid = new Gid(0xfe80_0000_0000_0000L, 0x0211_22ff_fe33_4455L);
    assertEquals("fe80:0000:0000:0000:0211:22ff:fe33:4455", gid.toString());
    assertEquals(gid, Gid.of(gid.bytes()));
    assertThrows(IllegalArgumentException.class, () -> Gid.of(new byte[15]));
  }

  static ServerFrame frame(RailDialect dialect, int rails) {
    return dialect == RailDialect.READ_ONLY
        ? new RoRailFrame(
            Collections.nCopies(rails, new RoServerRecord(QP, List.of(REGION, REGION))))
        : new RwRailFrame(Collections.nCopies(rails, new RwServerRecord(QP, REGION)));
  }

  static ByteBuffer oneMore(ByteBuffer bytes) {
    return ByteBuffer.allocate(bytes.remaining() + 1).put(bytes.duplicate()).rewind();
  }

  private static Kind refusal(RailDialect dialect, int got, int wanted) {
    ByteBuffer count = ByteBuffer.wrap(new byte[] {(byte) got});
    WireFormatException streamed =
        assertThrows(WireFormatException.class, () -> dialect.missing(count, wanted));
    WireFormatException whole =
        assertThrows(WireFormatException.class, () -> dialect.decode(count, wanted));
    assertEquals(streamed.kind(), whole.kind());
    return whole.kind();
  }

  private static Kind kindOf(IllegalArgumentException e) {
    return assertInstanceOf(WireFormatException.class, e.getCause()).kind();
  }
}
