package org.metrale.benchmarks;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.metrale.gpu.wire.Gid;
import org.metrale.gpu.wire.Region;
import org.metrale.gpu.wire.RemoteQp;
import org.metrale.gpu.wire.RoRailFrame;
import org.metrale.gpu.wire.RoServerRecord;
import org.metrale.gpu.wire.WireFormatException;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;

/** A server's frame of 8 rails with 64 regions each; also frames that somebody broke. */
@State(Scope.Benchmark)
public class WireBenchmark {
  static final int RAILS = 8;
  static final int REGIONS = 64;

  /** The length of the good frame. */
  static final int BYTES = 1 + RAILS * (RoServerRecord.HEADER_BYTES + Region.BYTES * REGIONS);

  private final RoRailFrame frame = frame(RAILS, REGIONS);
  private final ByteBuffer good = frame.encode();

  /** The last byte is missing. */
  private final ByteBuffer cut = frame.encode().limit(BYTES - 1);

  /** The last rail says that it has more regions than there can be. */
  private final ByteBuffer lying =
      frame
          .encode()
          .put(
              BYTES
                  - Region.BYTES * REGIONS
                  - RoServerRecord.HEADER_BYTES
                  + RoServerRecord.REGION_COUNT_OFFSET
                  + 3,
              (byte) 0x7f);

  /** A frame whose numbers are distinct. */
  static RoRailFrame frame(int rails, int regions) {
    List<RoServerRecord> records = new ArrayList<>();
    for (int rail = 0; rail < rails; rail++) {
      List<Region> all = new ArrayList<>();
      for (int region = 0; region < regions; region++) {
        all.add(new Region(0x7f00_0000_0000L + region, 0x800L + rail));
      }
      records.add(
          new RoServerRecord(new RemoteQp(0x500L + rail, 0x600L + rail, new Gid(7, rail)), all));
    }
    return new RoRailFrame(records);
  }

  @Benchmark
  public ByteBuffer encode_checked() {
    return frame.encode();
  }

  @Benchmark
  public RoRailFrame decode_checked() throws WireFormatException {
    return RoRailFrame.decode(good, RAILS);
  }

  @Benchmark
  public String decodeCut_checked() {
    return refused(cut);
  }

  @Benchmark
  public String decodeLying_checked() {
    return refused(lying);
  }

  private static String refused(ByteBuffer bytes) {
    try {
      throw new IllegalStateException("accepted: " + RoRailFrame.decode(bytes, RAILS));
    } catch (WireFormatException e) {
      return e.field();
    }
  }
}
