package org.metrale.gpu.verbs;

import java.util.Objects;

/**
 * What a queue pair is made with.
 *
 * @param sendDepth how many requests may be in flight, from 1; less where the device has less
 * @param receiveDepth how many receive requests may be in flight, 0 for a queue pair that its peer
 *     sends nothing to; less where the device has less
 * @param inlineBytes how many bytes a request may have inline, from 0; less where the device can
 *     less
 * @param remoteAccess what the peer may do through it
 * @param path how it reaches its peer
 */
public record VerbsQueueSettings(
    int sendDepth, int receiveDepth, int inlineBytes, VerbsAccess remoteAccess, VerbsPath path) {
  /** 256 requests, no receives, nothing inline, the peer may do nothing, the default path. */
  public static final VerbsQueueSettings DEFAULT =
      new VerbsQueueSettings(256, VerbsAccess.LOCAL_READ, VerbsPath.DEFAULT);

  /** Reads and atomics in flight a direction, where the device can do more. */
  static final int READS_IN_FLIGHT = 16;

  private static final int MOST_REQUESTS = 1 << 16;

  /** More than any adapter takes inline. */
  static final int MOST_INLINE_BYTES = 4096;

  /**
   * Checks the numbers.
   *
   * @param sendDepth how many requests may be in flight, from 1
   * @param receiveDepth how many receive requests may be in flight, from 0
   * @param inlineBytes how many bytes a request may have inline, from 0
   * @param remoteAccess what the peer may do through it
   * @param path how it reaches its peer
   * @throws IllegalArgumentException if a depth is more than 65536 or too small, or more than 4096
   *     bytes are asked for inline
   */
  public VerbsQueueSettings {
    Objects.requireNonNull(remoteAccess, "remoteAccess");
    Objects.requireNonNull(path, "path");
    require("sendDepth", sendDepth, 1, MOST_REQUESTS);
    require("receiveDepth", receiveDepth, 0, MOST_REQUESTS);
    requireInline(inlineBytes);
  }

  /**
   * Without receives and inline data.
   *
   * @param sendDepth how many requests may be in flight, from 1
   * @param remoteAccess what the peer may do through it
   * @param path how it reaches its peer
   * @throws IllegalArgumentException if the depth is not from 1 to 65536
   */
  public VerbsQueueSettings(int sendDepth, VerbsAccess remoteAccess, VerbsPath path) {
    this(sendDepth, 0, 0, remoteAccess, path);
  }

  /**
   * The same with receives.
   *
   * @param depth how many receive requests may be in flight, 0 to 65536
   * @return the settings
   */
  public VerbsQueueSettings withReceives(int depth) {
    return new VerbsQueueSettings(sendDepth, depth, inlineBytes, remoteAccess, path);
  }

  /**
   * The same with inline data.
   *
   * @param bytes how many a request may have, 0 to 4096; the device may grant less or more: {@link
   *     VerbsQueuePair#maxInlineBytes()}
   * @return the settings
   */
  public VerbsQueueSettings withInline(int bytes) {
    return new VerbsQueueSettings(sendDepth, receiveDepth, bytes, remoteAccess, path);
  }

  /** What of it a device can do that has queues of at most so many requests. */
  VerbsQueueSettings within(int mostRequests) {
    return new VerbsQueueSettings(
        Math.min(sendDepth, mostRequests),
        Math.min(receiveDepth, mostRequests),
        inlineBytes,
        remoteAccess,
        path);
  }

  static int requireInline(int bytes) {
    require("inlineBytes", bytes, 0, MOST_INLINE_BYTES);
    return bytes;
  }

  private static void require(String what, int value, int least, int greatest) {
    if (value < least || value > greatest) {
      throw new IllegalArgumentException(
          what + ": wanted " + least + " to " + greatest + ", got " + value);
    }
  }
}
