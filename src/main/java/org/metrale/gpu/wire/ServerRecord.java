package org.metrale.gpu.wire;

import java.util.List;

/** What a server tells of one rail, whichever dialect it speaks. */
public sealed interface ServerRecord permits RoServerRecord, RwServerRecord {
  /**
   * The server's queue pair of this rail.
   *
   * @return number, first packet number and port address
   */
  RemoteQp remoteQp();

  /**
   * The memory that this rail opens.
   *
   * @return the regions in the server's order; exactly one in the read-write dialect
   */
  List<Region> regions();
}
