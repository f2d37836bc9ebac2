package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What the records of several ranks tell about a job that stands still. */
class NcclFlightRecordTest {
  private static final NcclOperationKind SUM = NcclOperationKind.ALL_REDUCE;

  private static NcclFlightRecord record(int rank, NcclFlightRecord.Entry... entries) {
    long last = entries.length == 0 ? -1 : entries[entries.length - 1].sequence();
    return new NcclFlightRecord(rank, 2, last, -1, "", List.of(entries));
  }

  private static NcclFlightRecord.Entry entry(
      long sequence, long collective, NcclOperationKind kind, long count) {
    return new NcclFlightRecord.Entry(
        sequence,
        collective,
        kind,
        "FLOAT32",
        0,
        count,
        0,
        7,
        NcclFlightRecord.State.RUNNING,
        sequence,
        0);
  }

  private static NcclFlightRecord.Difference difference(NcclFlightRecord... records) {
    return NcclFlightRecord.compare(List.of(records)).orElseThrow();
  }

  @Test
  void equalRanksDoNotDiffer() {
    assertEquals(
        Optional.empty(),
        NcclFlightRecord.compare(
            List.of(record(1, entry(0, 0, SUM, 8)), record(0, entry(0, 0, SUM, 8)))));
    assertEquals(Optional.empty(), NcclFlightRecord.compare(List.of()));
  }

  @Test
  void namesTheFirstOperationWhoseShapeDiffers() {
    NcclFlightRecord.Difference found =
        difference(
            record(0, entry(0, 0, SUM, 8), entry(1, 1, SUM, 8), entry(2, 2, SUM, 8)),
            record(1, entry(0, 0, SUM, 8), entry(1, 1, SUM, 9), entry(2, 2, SUM, 9)));
    assertEquals(1, found.sequence());
    assertEquals(1, found.rank());
    assertTrue(found.description().contains("count=9"), found.description());
    assertTrue(found.description().contains("count=8"), found.description());
  }

  @Test
  void namesTheRankThatNeverIssuedIt() {
    NcclFlightRecord.Difference found =
        difference(record(0), record(1, entry(0, 0, SUM, 8), entry(1, 1, SUM, 8)));
    assertEquals(0, found.rank());
    assertEquals(0, found.sequence());
    assertTrue(found.description().startsWith("rank 0 never issued operation 0"));
  }

  @Test
  void whatTwoRanksDoWithEachOtherIsNobodyElsesAffair() {
    NcclFlightRecord sender =
        record(0, entry(0, -1, NcclOperationKind.SEND, 8), entry(1, 0, SUM, 8));
    assertEquals(
        Optional.empty(),
        NcclFlightRecord.compare(List.of(sender, record(1, entry(0, 0, SUM, 8)))));
    assertEquals(1, difference(sender, record(1)).rank());
  }

  @Test
  void aRankThatIsFarBehindIsNamedByWhatItLacksFirst() {
    NcclFlightRecord.Difference found =
        difference(
            record(0, entry(100, 90, SUM, 8), entry(101, 91, SUM, 8)),
            record(1, entry(3, 3, SUM, 8), entry(4, 4, SUM, 8)));
    assertEquals(1, found.rank());
    assertTrue(found.description().contains("rank 1 never issued collective 5"), found.toString());
  }

  @Test
  void onlyWhatAllStillKeepIsCompared() {
    assertEquals(
        Optional.empty(),
        NcclFlightRecord.compare(
            List.of(
                record(0, entry(8, 8, SUM, 1), entry(9, 9, SUM, 8)),
                record(1, entry(12, 9, SUM, 8)))));
  }

  @Test
  void readsItsOwnText() {
    List<NcclFlightRecord.Entry> entries = new ArrayList<>();
    entries.add(entry(4, 2, SUM, 8));
    entries.add(entry(5, -1, NcclOperationKind.RECEIVE, 3));
    NcclFlightRecord written = new NcclFlightRecord(1, 2, 5, 4, "said \"no\"", entries);
    assertEquals(written, NcclFlightRecord.parse(written.toString()));
    assertThrows(IllegalArgumentException.class, () -> NcclFlightRecord.parse("something else"));
    assertThrows(
        IllegalArgumentException.class,
        () -> NcclFlightRecord.parse(written.toString() + "\n1 2 3"));
  }

  @Test
  void anOperationOfTheRingKnowsItsPlaceAmongCollectives() {
    FlightRing ring = new FlightRing(16);
    long send = FlightRing.what(NcclOperationKind.SEND, 0, 0);
    long sum = FlightRing.what(SUM, 0, 0);
    ring.write(0, sum, 1, 0, 0);
    ring.write(1, send, 1, 0, 0);
    ring.write(2, send, 1, 0, 0);
    // Refused, and issued again as something else.
    ring.drop(2);
    ring.drop(2);
    ring.write(2, sum, 1, 0, 0);
    ring.write(3, sum, 1, 0, 0);
    assertEquals(
        List.of(0L, -1L, 1L, 2L),
        ring.read(3, -1, false).stream().map(NcclFlightRecord.Entry::collective).toList());
  }
}
