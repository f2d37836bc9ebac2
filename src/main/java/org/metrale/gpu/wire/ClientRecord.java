package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * What a client tells of one of its rails: its queue pair and nothing else.
 *
 * <pre>
 *   0     4     8                24
 *   +-----+-----+-----------------+
 *   | qpn | psn | gid (16 bytes)  |
 *   +-----+-----+-----------------+
 * </pre>
 *
 * @param remoteQp the client's queue pair as its peer sees it
 */
public record ClientRecord(RemoteQp remoteQp) {
  /** The length on the wire in bytes. */
  public static final int BYTES = 24;

  /** Where the queue pair number is. */
  public static final int QPN_OFFSET = 0;

  /** Where the first packet sequence number is. */
  public static final int PSN_OFFSET = 4;

  /** Where the port's address is. */
  public static final int GID_OFFSET = 8;

  /**
   * Refuses null.
   *
   * @param remoteQp the client's queue pair as its peer sees it
   */
  public ClientRecord {
    Objects.requireNonNull(remoteQp, "remoteQp");
  }

  /**
   * A record of three fields.
   *
   * @param qpn the queue pair number, 0 to 2<sup>32</sup>-1
   * @param psn the first packet sequence number, 0 to 2<sup>32</sup>-1
   * @param gid the port's address
   * @throws IllegalArgumentException if a number does not fit its field
   */
  public ClientRecord(long qpn, long psn, Gid gid) {
    this(new RemoteQp(qpn, psn, gid));
  }

  /**
   * The record of exactly the remaining bytes.
   *
   * @param whole the record; its position is left alone
   * @return the record
   * @throws WireFormatException if there are fewer or more than {@value #BYTES} bytes
   */
  public static ClientRecord decode(ByteBuffer whole) throws WireFormatException {
    WireReader in = new WireReader(whole);
    ClientRecord record = read(in);
    in.end("client record");
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

  static ClientRecord read(WireReader in) throws WireFormatException {
    return new ClientRecord(readQp(in));
  }

  void write(WireWriter out) {
    writeQp(out, remoteQp);
  }

  /** Reads the three fields that every record begins with. */
  static RemoteQp readQp(WireReader in) throws WireFormatException {
    return new RemoteQp(in.u32("qpn"), in.u32("psn"), in.gid("gid"));
  }

  /** Writes the three fields that every record begins with. */
  static void writeQp(WireWriter out, RemoteQp qp) {
    out.u32(qp.qpn()).u32(qp.psn()).gid(qp.gid());
  }
}
