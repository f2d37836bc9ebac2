package org.metrale.gpu.nvml;

import java.nio.ByteBuffer;
import java.util.OptionalLong;
import java.util.UUID;

/**
 * The NVLink fabric that a device is part of.
 *
 * @param state 0 not supported, 1 not started, 2 in progress, 3 completed
 * @param status what the fabric manager said when it was done
 * @param cluster the cluster; all zeros outside one
 * @param clique which devices of the cluster reach each other; empty if there is none
 * @param healthMask health in detail, see {@link #health}; empty where the driver has not got it
 * @param healthSummary 0 not supported, 1 healthy, 2 unhealthy, 3 limited capacity; empty where the
 *     driver has not got it
 * @param version which version of the structure answered, 1 to 4
 */
public record NvmlFabric(
    int state,
    NvmlResult status,
    UUID cluster,
    OptionalLong clique,
    OptionalLong healthMask,
    OptionalLong healthSummary,
    int version) {
  /** A question that {@link #healthMask()} answers. */
  public enum Health {
    /** Is the bandwidth less than it should be? */
    DEGRADED_BANDWIDTH(0),

    /** Is a route being recovered? */
    ROUTE_RECOVERY(2),

    /** Is a route broken? */
    ROUTE_UNHEALTHY(4),

    /** Is an access time-out being recovered? */
    ACCESS_TIMEOUT_RECOVERY(6);

    private final int shift;

    Health(int shift) {
      this.shift = shift;
    }
  }

  /** Layout of {@code struct metrale_nvml_fabric}. */
  private static final int BYTES = 56;

  private static final int STATUS_OFFSET = 16;
  private static final int STATE_OFFSET = 20;
  private static final int CLIQUE_OFFSET = 24;
  private static final int MASK_OFFSET = 32;
  private static final int SUMMARY_OFFSET = 40;
  private static final int VERSION_OFFSET = 48;

  /**
   * The answer to a question of health.
   *
   * @param question the question
   * @return yes or no; absent where the driver does not tell
   */
  public NvmlReading<Boolean> health(Health question) {
    int bits = healthMask.isEmpty() ? 0 : (int) (healthMask.getAsLong() >> question.shift) & 3;
    return bits == 0
        ? new NvmlReading.Absent<>(NvmlResult.NOT_SUPPORTED)
        : new NvmlReading.Value<>(bits == 1);
  }

  static NvmlReading<NvmlFabric> read(NvmlDevice device) {
    return device.call(
        "nvmlDeviceGetGpuFabricInfo_v4",
        () -> {
          NvmlScratch scratch = NvmlScratch.ofThread().atLeast(BYTES);
          NvmlResult result = NvmlCalls.metrale_nvml_fabric_info(device.handle(), scratch);
          return NvmlReading.of(result, () -> of(scratch.bytes()));
        });
  }

  private static NvmlFabric of(ByteBuffer bytes) {
    return new NvmlFabric(
        bytes.getInt(STATE_OFFSET),
        new NvmlResult(bytes.getInt(STATUS_OFFSET)),
        new UUID(bigEndian(bytes, 0), bigEndian(bytes, Long.BYTES)),
        optional(bytes.getLong(CLIQUE_OFFSET)),
        optional(bytes.getLong(MASK_OFFSET)),
        optional(bytes.getLong(SUMMARY_OFFSET)),
        bytes.getInt(VERSION_OFFSET));
  }

  private static long bigEndian(ByteBuffer bytes, int at) {
    long out = 0;
    for (int i = 0; i < Long.BYTES; i++) {
      out = (out << Byte.SIZE) | (bytes.get(at + i) & 0xFF);
    }
    return out;
  }

  private static OptionalLong optional(long value) {
    return value < 0 ? OptionalLong.empty() : OptionalLong.of(value);
  }
}
