package org.metrale.gpu.verbs;

import java.util.List;
import java.util.Optional;

/**
 * What a port says of itself.
 *
 * @param portNumber from 1
 * @param state the port's state in the library's words, for example {@code PORT_ACTIVE}
 * @param isActive whether traffic can flow
 * @param linkLayer {@code InfiniBand}, {@code Ethernet} or {@code unspecified}
 * @param activeMtuBytes the largest packet's payload, in bytes; 0 if the device gives no known size
 * @param maxMessageBytes the longest message, in bytes
 * @param lid the local identifier; 0 with RoCE
 * @param gidTable its addresses, without empty entries
 */
public record VerbsPort(
    int portNumber,
    String state,
    boolean isActive,
    String linkLayer,
    int activeMtuBytes,
    long maxMessageBytes,
    int lid,
    List<VerbsGidEntry> gidTable) {
  /**
   * Copies the table.
   *
   * @param portNumber from 1
   * @param state the port's state in the library's words
   * @param isActive whether traffic can flow
   * @param linkLayer the link layer's name
   * @param activeMtuBytes the largest packet's payload, in bytes
   * @param maxMessageBytes the longest message, in bytes
   * @param lid the local identifier
   * @param gidTable its addresses
   */
  public VerbsPort {
    gidTable = List.copyOf(gidTable);
  }

  /**
   * The address that a connection should use.
   *
   * @return the choice with its reason, or empty if the table has no usable entry
   */
  public Optional<VerbsGidChoice> gidChoice() {
    return VerbsGidChoice.of(gidTable);
  }
}
