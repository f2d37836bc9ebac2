package org.metrale.gpu.verbs;

/**
 * What a queue pair's path came to on this machine at this moment.
 *
 * @param gid the local address
 * @param reason why that one
 * @param lid the local identifier; 0 with RoCE
 * @param mtuBytes the largest packet's payload
 * @param packetNumber the first packet number that this side sends with
 * @param readsIn reads that it answers at the same time
 * @param readsOut reads that it may have in flight
 * @param maxMessageBytes the longest request
 * @param isRoce whether the port is Ethernet
 */
record VerbsRoute(
    VerbsGidEntry gid,
    String reason,
    int lid,
    int mtuBytes,
    int packetNumber,
    int readsIn,
    int readsOut,
    long maxMessageBytes,
    boolean isRoce) {
  static VerbsRoute of(VerbsDevice device, VerbsPath path, int packetNumber) {
    VerbsPort port = device.port(path.portNumber());
    VerbsLimits limits = device.limits();
    VerbsGidEntry entry;
    String reason;
    if (path.gidIndex() == VerbsPath.CHOOSE_GID) {
      VerbsGidChoice choice =
          port.gidChoice()
              .orElseThrow(
                  () ->
                      new IllegalStateException(
                          device + " has no usable address: " + port.gidTable()));
      entry = choice.entry();
      reason = choice.reason();
    } else {
      entry = atIndex(device, port, path.gidIndex());
      reason = "asked for";
    }
    int mtu = port.activeMtuBytes() == 0 ? 1024 : port.activeMtuBytes();
    return new VerbsRoute(
        entry,
        reason,
        port.lid(),
        Math.min(mtu, path.mtuCapBytes()),
        packetNumber,
        Math.min(VerbsQueueSettings.READS_IN_FLIGHT, limits.readsIn()),
        Math.min(VerbsQueueSettings.READS_IN_FLIGHT, limits.readsOut()),
        port.maxMessageBytes(),
        !port.linkLayer().equals("InfiniBand"));
  }

  /** Whether packets carry the global address: always with RoCE. */
  boolean isGlobal() {
    return isRoce;
  }

  private static VerbsGidEntry atIndex(VerbsDevice device, VerbsPort port, int gidIndex) {
    return port.gidTable().stream()
        .filter(entry -> entry.gidIndex() == gidIndex && !entry.gid().isZero())
        .findFirst()
        .orElseThrow(
            () ->
                new IllegalStateException(
                    device + " has no address at index " + gidIndex + ": " + port.gidTable()));
  }

  @Override
  public String toString() {
    return gid + " (" + reason + "), MTU " + mtuBytes;
  }
}
