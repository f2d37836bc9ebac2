package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;

/**
 * What a server of the read-write dialect (the cache service) tells of one rail.
 *
 * <pre>
 *   0     4     8                24      32     36
 *   +-----+-----+-----------------+-------+------+
 *   | qpn | psn | gid (16 bytes)  | base  | rkey |
 *   +-----+-----+-----------------+-------+------+
 * </pre>
 *
 * @param remoteQp the server's queue pair
 * @param region the arena: its address and this rail's key; its size is not told
 */
public record RwServerRecord(RemoteQp remoteQp, Region region) implements ServerRecord {
  /** The length on the wire in bytes. */
  public static final int BYTES = 36;

  /** Where the queue pair number is. */
  public static final int QPN_OFFSET = 0;

  /** Where the first packet sequence number is. */
  public static final int PSN_OFFSET = 4;

  /** Where the port's address is. */
  public static final int GID_OFFSET = 8;

  /** Where the arena's address is. */
  public static final int BASE_OFFSET = 24;

  /** Where the arena's remote key is. */
  public static final int RKEY_OFFSET = 32;

  /**
   * Refuses nulls.
   *
   * @param remoteQp the server's queue pair
   * @param region the arena: its address and this rail's key; its size is not told
   */
  public RwServerRecord {
    Objects.requireNonNull(remoteQp, "remoteQp");
    Objects.requireNonNull(region, "region");
  }

  @Override
  public List<Region> regions() {
    return List.of(region);
  }

  /**
   * The record of exactly the remaining bytes.
   *
   * @param whole the record; its position is left alone
   * @return the record
   * @throws WireFormatException if there are fewer or more than {@value #BYTES} bytes
   */
  public static RwServerRecord decode(ByteBuffer whole) throws WireFormatException {
    WireReader in = new WireReader(whole);
    RwServerRecord record = read(in);
    in.end("read-write server record");
    return record;
  }

  /**
   * The record's bytes.
   *
   * @return a new buffer of {@value #BYTES} bytes, ready to be read
   */
  public ByteBuffer encode() {
    WireWriter out = new WireWriter(BYTES);
    write(out);
    return out.message();
  }

  static RwServerRecord read(WireReader in) throws WireFormatException {
    RemoteQp qp = ClientRecord.readQp(in);
    return new RwServerRecord(qp, new Region(in.u64("base"), in.u32("rkey")));
  }

  void write(WireWriter out) {
    ClientRecord.writeQp(out, remoteQp);
    out.u64(region.base()).u32(region.rkey());
  }
}
