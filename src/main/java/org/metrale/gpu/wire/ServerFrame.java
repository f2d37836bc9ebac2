package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.util.List;

/**
 * A server's answer to the rail count: its own count and one record per rail.
 *
 * <pre>
 *   0       1
 *   +-------+----------+----------+---
 *   | count | record 0 | record 1 | ...
 *   +-------+----------+----------+---
 * </pre>
 */
public sealed interface ServerFrame permits RoRailFrame, RwRailFrame {
  /** Where the first record begins, after the count byte. */
  int RECORDS_OFFSET = 1;

  /**
   * The dialect that the records are in; the wire does not carry it.
   *
   * @return the dialect
   */
  RailDialect dialect();

  /**
   * The server's rails.
   *
   * @return one record per rail, in the order in which both sides pair them
   */
  List<? extends ServerRecord> rails();

  /**
   * The frame's bytes, to be sent with one write.
   *
   * @return a new buffer, ready to be read
   */
  ByteBuffer encode();
}
