package org.metrale.gpu.nvml;

import java.util.List;
import java.util.OptionalLong;

/**
 * A process that uses a device.
 *
 * @param processId its id
 * @param memoryBytes the device memory that it uses; empty where the driver does not tell, as for
 *     every process on Windows and some in containers
 * @param gpuInstanceId the GPU instance that it uses; empty outside MIG and on old drivers
 * @param computeInstanceId the compute instance that it uses; empty outside MIG and on old drivers
 */
public record NvmlProcess(
    long processId,
    OptionalLong memoryBytes,
    OptionalLong gpuInstanceId,
    OptionalLong computeInstanceId) {
  /** Layout of {@code nvmlProcessInfo_v2_t}. */
  private static final int BYTES = 24;

  private static final int MEMORY_OFFSET = 8;
  private static final int GPU_INSTANCE_OFFSET = 16;
  private static final int COMPUTE_INSTANCE_OFFSET = 20;
  private static final int NO_INSTANCE = -1;

  static NvmlReading<List<NvmlProcess>> list(NvmlDevice device, NvmlProcessKind kind) {
    return NvmlLists.read(
        device,
        kind.call(),
        BYTES,
        (scratch, capacity) ->
            NvmlCalls.metrale_nvml_processes(
                device.handle(), kind.number(), scratch, NvmlLists.OFFSET_BYTES, capacity),
        bytes ->
            i -> {
              int at = NvmlLists.OFFSET_BYTES + i * BYTES;
              long memoryBytes = bytes.getLong(at + MEMORY_OFFSET);
              return new NvmlProcess(
                  Integer.toUnsignedLong(bytes.getInt(at)),
                  // NVML_VALUE_NOT_AVAILABLE
                  memoryBytes == -1 ? OptionalLong.empty() : OptionalLong.of(memoryBytes),
                  instance(bytes.getInt(at + GPU_INSTANCE_OFFSET)),
                  instance(bytes.getInt(at + COMPUTE_INSTANCE_OFFSET)));
            });
  }

  static OptionalLong instance(int id) {
    return id == NO_INSTANCE ? OptionalLong.empty() : OptionalLong.of(Integer.toUnsignedLong(id));
  }
}
