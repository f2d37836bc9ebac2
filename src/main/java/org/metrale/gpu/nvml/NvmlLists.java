package org.metrale.gpu.nvml;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.IntFunction;

/** Lists whose length NVML tells only when it is asked: asks again with more room, a few times. */
final class NvmlLists {
  /** The true number stands first; entries follow where they are aligned. */
  static final int OFFSET_BYTES = 8;

  private static final int FIRST_CAPACITY = 64;
  private static final int ATTEMPTS = 5;
  private static final int MOST_CAPACITY = 1 << 17;

  private NvmlLists() {}

  static NvmlReading<List<Long>> clocksMegahertz(NvmlDevice device, int memoryMegahertz) {
    return read(
        device,
        memoryMegahertz < 0
            ? "nvmlDeviceGetSupportedMemoryClocks"
            : "nvmlDeviceGetSupportedGraphicsClocks",
        Integer.BYTES,
        (scratch, capacity) ->
            NvmlCalls.metrale_nvml_clocks(
                device.handle(), memoryMegahertz, scratch, OFFSET_BYTES, capacity),
        bytes -> i -> Integer.toUnsignedLong(bytes.getInt(OFFSET_BYTES + i * Integer.BYTES)));
  }

  static <T> NvmlReading<List<T>> read(
      NvmlDevice device,
      String name,
      int entryBytes,
      BiFunction<NvmlScratch, Integer, NvmlResult> call,
      Entries<T> entries) {
    return device.call(name, () -> read(entryBytes, call, entries));
  }

  private static <T> NvmlReading<List<T>> read(
      int entryBytes, BiFunction<NvmlScratch, Integer, NvmlResult> call, Entries<T> entries) {
    int capacity = FIRST_CAPACITY;
    NvmlResult result = NvmlResult.INSUFFICIENT_SIZE;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
      NvmlScratch scratch = NvmlScratch.ofThread().atLeast(OFFSET_BYTES + capacity * entryBytes);
      result = call.apply(scratch, capacity);
      ByteBuffer bytes = scratch.bytes();
      int count = bytes.getInt(0);
      if (result.equals(NvmlResult.SUCCESS) && (count < 0 || count > capacity)) {
        // A library that claims to have written more than there was room for.
        return NvmlReading.of(NvmlResult.INSUFFICIENT_SIZE, List::of);
      }
      if (!result.equals(NvmlResult.INSUFFICIENT_SIZE)) {
        return NvmlReading.of(result, () -> list(count, entries.in(bytes)));
      }
      // Some more may have come by the time it is asked again.
      capacity = (int) Math.min(Math.max(capacity, count) * 2L, MOST_CAPACITY);
    }
    return NvmlReading.of(result, List::of);
  }

  /** Reads entries out of the bytes that a call wrote. */
  @FunctionalInterface
  interface Entries<T> {
    IntFunction<T> in(ByteBuffer bytes);
  }

  private static <T> List<T> list(int count, IntFunction<T> entry) {
    List<T> out = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      out.add(entry.apply(i));
    }
    return List.copyOf(out);
  }
}
