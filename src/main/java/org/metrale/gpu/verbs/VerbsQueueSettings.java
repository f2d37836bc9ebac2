package org.metrale.gpu.verbs;

import java.util.Objects;

/**
 * What a queue pair is made with.
 *
 * @param sendDepth how many requests may be in flight, from 1; less where the device has less
 * @param remoteAccess what the peer may do through it
 * @param path how it reaches its peer
 */
public record VerbsQueueSettings(int sendDepth, VerbsAccess remoteAccess, VerbsPath path) {
  /** 256 requests, the peer may do nothing, the default path. */
  public static final VerbsQueueSettings DEFAULT =
      new VerbsQueueSettings(256, VerbsAccess.LOCAL_READ, VerbsPath.DEFAULT);

  /** Reads and atomics in flight a direction, where the device can do more. */
  static final int READS_IN_FLIGHT = 16;

  /**
   * Checks the depth.
   *
   * @param sendDepth how many requests may be in flight, from 1
   * @param remoteAccess what the peer may do through it
   * @param path how it reaches its peer
   * @throws IllegalArgumentException if the depth is not from 1 to 65536
   */
  public VerbsQueueSettings {
    Objects.requireNonNull(remoteAccess, "remoteAccess");
    Objects.requireNonNull(path, "path");
    if (sendDepth < 1 || sendDepth > 1 << 16) {
      throw new IllegalArgumentException("sendDepth: wanted 1 to 65536, got " + sendDepth);
    }
  }
}
