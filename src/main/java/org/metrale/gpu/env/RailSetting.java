package org.metrale.gpu.env;

import java.util.Objects;

/**
 * One rail as the environment describes it.
 *
 * @param device the RDMA device's name; empty if a lenient look-up found an empty variable
 * @param gidIndex the index into the port's GID table, 0 to 2<sup>32</sup>-1
 */
public record RailSetting(String device, long gidIndex) {
  /**
   * Checks the index.
   *
   * @param device the RDMA device's name; empty if a lenient look-up found an empty variable
   * @param gidIndex the index into the port's GID table, 0 to 2<sup>32</sup>-1
   * @throws IllegalArgumentException if the index is not an unsigned 32-bit number
   */
  public RailSetting {
    Objects.requireNonNull(device, "device");
    Numbers.requireU32("gidIndex", gidIndex);
  }
}
