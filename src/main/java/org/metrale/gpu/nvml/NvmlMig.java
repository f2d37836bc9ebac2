package org.metrale.gpu.nvml;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Multi-instance GPU: on a whole GPU its mode and its MIG devices, on a MIG device what it is part
 * of.
 */
public final class NvmlMig {
  private final NvmlDevice device;

  NvmlMig(NvmlDevice device) {
    this.device = device;
  }

  /**
   * Whether the GPU is in MIG mode now.
   *
   * @return true if it is; absent where the part has no such mode
   * @wraps {@code nvmlDeviceGetMigMode}; nvml.h
   */
  public NvmlReading<Boolean> isEnabled() {
    return device.flag(NvmlQuery.MIG_MODE);
  }

  /**
   * Whether the GPU is in MIG mode after the next reset.
   *
   * @return true if it will be
   * @wraps {@code nvmlDeviceGetMigMode}; nvml.h
   */
  public NvmlReading<Boolean> isEnabledAfterReset() {
    return device.query(NvmlQuery.MIG_MODE, 0).reading(answer -> answer.value(1) != 0);
  }

  /**
   * Whether this is a MIG device.
   *
   * @return false for a whole GPU
   * @wraps {@code nvmlDeviceIsMigDeviceHandle}; nvml.h
   */
  public NvmlReading<Boolean> isMigDevice() {
    return device.flag(NvmlQuery.IS_MIG);
  }

  /**
   * How many MIG devices the GPU can have.
   *
   * @return the most; 0 where the part has no such mode
   * @wraps {@code nvmlDeviceGetMaxMigDeviceCount}; nvml.h
   */
  public NvmlReading<Long> maxDevices() {
    return device.number(NvmlQuery.MAX_MIG, 0);
  }

  /**
   * The MIG devices of this GPU.
   *
   * @return them in NVML's order; none outside MIG mode
   * @throws NvmlException if one cannot be had, for example for want of rights (code 4)
   * @wraps {@code nvmlDeviceGetMigDeviceHandleByIndex}; nvml.h
   */
  public List<NvmlDevice> devices() {
    List<NvmlDevice> out = new ArrayList<>();
    long most = maxDevices().orElse(0L);
    for (int migIndex = 0; migIndex < most; migIndex++) {
      int index = migIndex;
      long handle =
          device.call(
              "nvmlDeviceGetMigDeviceHandleByIndex",
              () -> NvmlCalls.metrale_nvml_mig(device.handle(), index));
      if (handle != 0) {
        out.add(new NvmlDevice(device.session(), handle, device.place() + " migIndex=" + migIndex));
      }
    }
    return List.copyOf(out);
  }

  /**
   * The GPU that this MIG device is part of.
   *
   * @return the GPU, or empty if this is no MIG device
   * @throws NvmlException if NVML does not tell, for example for want of rights (code 4)
   * @wraps {@code nvmlDeviceGetDeviceHandleFromMigDeviceHandle}; nvml.h
   */
  public Optional<NvmlDevice> parent() {
    if (!isMigDevice().orElse(false)) {
      return Optional.empty();
    }
    return Optional.of(
        device.call(
            "nvmlDeviceGetDeviceHandleFromMigDeviceHandle",
            () ->
                new NvmlDevice(
                    device.session(), NvmlCalls.metrale_nvml_mig_parent(device.handle()))));
  }

  /**
   * The GPU instance that this MIG device belongs to.
   *
   * @return its id; absent for a whole GPU
   * @wraps {@code nvmlDeviceGetGpuInstanceId}; nvml.h
   */
  public NvmlReading<Long> gpuInstanceId() {
    return ofMig(NvmlQuery.GPU_INSTANCE);
  }

  /**
   * The compute instance that this MIG device is.
   *
   * @return its id within the GPU instance; absent for a whole GPU
   * @wraps {@code nvmlDeviceGetComputeInstanceId}; nvml.h
   */
  public NvmlReading<Long> computeInstanceId() {
    return ofMig(NvmlQuery.COMPUTE_INSTANCE);
  }

  /**
   * What share of the GPU this MIG device has.
   *
   * @return its slices, engines and memory
   * @wraps {@code nvmlDeviceGetAttributes_v2}; nvml.h
   */
  public NvmlReading<NvmlMigShare> share() {
    return device
        .query(NvmlQuery.ATTRIBUTES, 0)
        .reading(
            answer ->
                new NvmlMigShare(
                    answer.value(0),
                    answer.value(1),
                    answer.value(2),
                    answer.value(3),
                    answer.value(4),
                    answer.value(5) << 20));
  }

  /** NVML calls a whole GPU an invalid argument here. */
  private NvmlReading<Long> ofMig(NvmlQuery query) {
    NvmlReading<Long> reading = device.number(query, 0);
    boolean isInvalid = reading.result().equals(NvmlResult.INVALID_ARGUMENT);
    return isInvalid && !isMigDevice().orElse(true)
        ? new NvmlReading.Absent<>(NvmlResult.NOT_SUPPORTED)
        : reading;
  }
}
