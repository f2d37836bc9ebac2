package org.metrale.gpu.nvml;

import java.util.Optional;
import java.util.OptionalLong;
import java.util.function.Supplier;

/** Chooses who is asked about memory: NVML, then whoever owns the pool. */
final class NvmlMemoryTruth {
  private NvmlMemoryTruth() {}

  static NvmlReading<NvmlMemory> read(NvmlDevice device, Supplier<Optional<NvmlMemory>> cuda) {
    NvmlAnswer answer = device.query(NvmlQuery.MEMORY, 0);
    if (!answer.result().isAbsent()) {
      return answer.reading(told -> ofNvml(told, device.isUnified()));
    }
    Optional<NvmlMemory> other = device.isUnified() ? HostMemory.here().read() : cuda.get();
    return NvmlReading.of(other.isPresent() ? NvmlResult.SUCCESS : answer.result(), other::get);
  }

  private static NvmlMemory ofNvml(NvmlAnswer answer, boolean isUnified) {
    long reserved = answer.value(3);
    return new NvmlMemory(
        NvmlMemorySource.NVML,
        isUnified,
        answer.value(0),
        reserved < 0 ? OptionalLong.empty() : OptionalLong.of(reserved),
        answer.value(2),
        answer.value(1));
  }
}
