package org.metrale.gpu.nccl;

/** How large a configuration the library of a version is told that it gets. */
public final class ConfigStamp {
  private ConfigStamp() {}

  /** The size in bytes for a version code. */
  public static long bytes(int version) {
    return NcclConfig.defaults().fields(version, 0, 0)[0];
  }
}
