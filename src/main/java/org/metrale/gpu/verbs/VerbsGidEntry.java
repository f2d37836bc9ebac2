package org.metrale.gpu.verbs;

/**
 * One entry of a port's GID table.
 *
 * @param gidIndex its index, from 0
 * @param type which protocol it is for
 * @param gid the address
 * @param netDevice the network device that has the address, or an empty text if the kernel does not
 *     say
 */
public record VerbsGidEntry(int gidIndex, VerbsGidType type, VerbsGid gid, String netDevice) {
  @Override
  public String toString() {
    return "gid "
        + gidIndex
        + " "
        + gid
        + " ("
        + type
        + (netDevice.isEmpty() ? "" : ", " + netDevice)
        + ")";
  }
}
