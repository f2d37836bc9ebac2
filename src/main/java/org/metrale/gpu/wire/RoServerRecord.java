package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;

/**
 * What a server of the read-only dialect (experts, weights, adapters) tells of one rail.
 *
 * <pre>
 *   0     4     8                24            28       36     40
 *   +-----+-----+-----------------+-------------+--------+------+---
 *   | qpn | psn | gid (16 bytes)  | regionCount | base 0 | rkey | ... 12 bytes a region
 *   +-----+-----+-----------------+-------------+--------+------+---
 * </pre>
 *
 * @param remoteQp the server's queue pair
 * @param regions one region per layer or per file, 1 to {@link WireCounts#MAX_REGIONS}
 */
public record RoServerRecord(RemoteQp remoteQp, List<Region> regions) implements ServerRecord {
  /** The length of what comes before the regions, in bytes. */
  public static final int HEADER_BYTES = 28;

  /** Where the queue pair number is. */
  public static final int QPN_OFFSET = 0;

  /** Where the first packet sequence number is. */
  public static final int PSN_OFFSET = 4;

  /** Where the port's address is. */
  public static final int GID_OFFSET = 8;

  /** Where the number of regions is. */
  public static final int REGION_COUNT_OFFSET = 24;

  /** Where the regions begin. */
  public static final int REGIONS_OFFSET = 28;

  /**
   * Copies the list and checks its size.
   *
   * @param remoteQp the server's queue pair
   * @param regions one region per layer or per file, 1 to {@link WireCounts#MAX_REGIONS}
   * @throws IllegalArgumentException if there is no region or more than {@link
   *     WireCounts#MAX_REGIONS}; the cause is what a reader would say
   */
  public RoServerRecord {
    Objects.requireNonNull(remoteQp, "remoteQp");
    try {
      WireCounts.regions(regions.size());
    } catch (WireFormatException e) {
      throw e.asCallerFault();
    }
    regions = RegionTable.of(regions);
  }

  /**
   * The record of exactly the remaining bytes.
   *
   * @param whole the record; its position is left alone
   * @return the record
   * @throws WireFormatException if the region count is out of range, or there are fewer or more
   *     bytes than it announces
   */
  public static RoServerRecord decode(ByteBuffer whole) throws WireFormatException {
    WireReader in = new WireReader(whole);
    RoServerRecord record = read(in);
    in.end("read-only server record");
    return record;
  }

  /**
   * The record's bytes.
   *
   * @return a new buffer of {@link #encodedBytes()} bytes, ready to be read
   */
  public ByteBuffer encode() {
    WireWriter out = new WireWriter(encodedBytes());
    write(out);
    return out.message();
  }

  /**
   * The record's length on the wire.
   *
   * @return {@value #HEADER_BYTES} bytes and {@value Region#BYTES} more for each region
   */
  public int encodedBytes() {
    return HEADER_BYTES + Region.BYTES * regions.size();
  }

  static RoServerRecord read(WireReader in) throws WireFormatException {
    RemoteQp qp = ClientRecord.readQp(in);
    int countRegions = WireCounts.regions(in.u32("regionCount"));
    return new RoServerRecord(qp, in.regions(countRegions));
  }

  /** Passes over a record that {@link #read} would take. */
  static void skip(WireReader in) throws WireFormatException {
    ClientRecord.readQp(in);
    in.skipRegions(WireCounts.regions(in.u32("regionCount")));
  }

  void write(WireWriter out) {
    ClientRecord.writeQp(out, remoteQp);
    out.u32(regions.size()).regions(RegionTable.of(regions));
  }
}
