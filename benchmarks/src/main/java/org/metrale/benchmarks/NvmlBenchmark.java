package org.metrale.benchmarks;

import java.lang.invoke.MethodHandle;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.IntPointer;
import org.bytedeco.javacpp.LongPointer;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.nvml.DeviceSampling;
import org.metrale.gpu.nvml.Nvml;
import org.metrale.gpu.nvml.NvmlSample;
import org.metrale.gpu.nvml.NvmlSampleSource;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** One full sample of a device: 13 calls of NVML. */
@State(Scope.Benchmark)
public class NvmlBenchmark {
  /** What a sampler asks with; its thread and its publishing are not measured. */
  @State(Scope.Thread)
  public static class Checked {
    Nvml session;
    NvmlSampleSource source;
    final NvmlSample sample = new NvmlSample();

    /** Opens a session. */
    @Setup
    @SuppressWarnings("MustBeClosed") // tearDown does
    public void setUp() {
      NoOp.require(NativeLibrary.NVML);
      session = Nvml.open();
      source = DeviceSampling.of(session.device(0));
    }

    /** Closes it. */
    @TearDown
    public void tearDown() {
      session.close();
    }
  }

  /** Memory for the answers, and the calls one by one. */
  @State(Scope.Benchmark)
  public static class Raw {
    final IntPointer first = new IntPointer(1);
    final IntPointer second = new IntPointer(1);
    final LongPointer wide = new LongPointer(1);
    org.metrale.nvml.nvmlDevice_st device;
    org.metrale.nvml.nvmlTemperature_v1_t temperature;
    org.metrale.nvml.nvmlMemory_v2_t memory;
    org.metrale.nvml.nvmlUtilization_t utilization;

    /** Checks which library answers. */
    @Setup
    public void setUp() {
      NoOp.map("libcuda.so.1", "libcudart.so.13", "libnvidia-ml.so.1");
      NoOp.require(NativeLibrary.NVML);
      temperature = new org.metrale.nvml.nvmlTemperature_v1_t();
      memory = new org.metrale.nvml.nvmlMemory_v2_t();
      utilization = new org.metrale.nvml.nvmlUtilization_t();
      device = new org.metrale.nvml.nvmlDevice_st(null);
      if (org.metrale.global.nvml.nvmlDeviceGetHandleByIndex_v2(0, device) != 0) {
        throw new IllegalStateException("no device");
      }
    }

    /** All values read, so that nothing is left out. */
    long sample() {
      long sum = org.metrale.global.nvml.nvmlDeviceGetPowerUsage(device, first) + first.get();
      sum += org.metrale.global.nvml.nvmlDeviceGetTotalEnergyConsumption(device, wide) + wide.get();
      for (int clock = 0; clock < 4; clock++) {
        sum += org.metrale.global.nvml.nvmlDeviceGetClockInfo(device, clock, first) + first.get();
      }
      sum += org.metrale.global.nvml.nvmlDeviceGetTemperatureV(device, temperature);
      sum += temperature.temperature();
      sum +=
          org.metrale.global.nvml.nvmlDeviceGetCurrentClocksEventReasons(device, wide) + wide.get();
      sum += org.metrale.global.nvml.nvmlDeviceGetMemoryInfo_v2(device, memory);
      sum += memory.total() + memory._free() + memory.used() + memory.reserved();
      sum += org.metrale.global.nvml.nvmlDeviceGetUtilizationRates(device, utilization);
      sum += utilization.gpu() + utilization.memory();
      sum +=
          org.metrale.global.nvml.nvmlDeviceGetEncoderUtilization(device, first, second)
              + first.get();
      sum +=
          org.metrale.global.nvml.nvmlDeviceGetDecoderUtilization(device, first, second)
              + first.get();
      return sum
          + org.metrale.global.nvml.nvmlDeviceGetPerformanceState(device, first)
          + first.get();
    }
  }

  /** Memory for the answers, and the calls one by one. */
  @State(Scope.Benchmark)
  public static class Theirs {
    final IntPointer first = new IntPointer(1);
    final IntPointer second = new IntPointer(1);
    final LongPointer wide = new LongPointer(1);
    org.bytedeco.cuda.nvml.nvmlDevice_st device;
    org.bytedeco.cuda.nvml.nvmlTemperature_v1_t temperature;
    org.bytedeco.cuda.nvml.nvmlMemory_v2_t memory;
    org.bytedeco.cuda.nvml.nvmlUtilization_t utilization;

    /** Checks which library answers. */
    @Setup
    public void setUp() {
      NoOp.map("libcuda.so.1", "libcudart.so.13", "libnvidia-ml.so.1");
      NoOp.require(NativeLibrary.NVML);
      temperature = new org.bytedeco.cuda.nvml.nvmlTemperature_v1_t();
      memory = new org.bytedeco.cuda.nvml.nvmlMemory_v2_t();
      utilization = new org.bytedeco.cuda.nvml.nvmlUtilization_t();
      device = new org.bytedeco.cuda.nvml.nvmlDevice_st(null);
      if (org.bytedeco.cuda.global.nvml.nvmlDeviceGetHandleByIndex_v2(0, device) != 0) {
        throw new IllegalStateException("no device");
      }
    }

    /** All values read, so that nothing is left out. */
    long sample() {
      long sum = org.bytedeco.cuda.global.nvml.nvmlDeviceGetPowerUsage(device, first) + first.get();
      sum +=
          org.bytedeco.cuda.global.nvml.nvmlDeviceGetTotalEnergyConsumption(device, wide)
              + wide.get();
      for (int clock = 0; clock < 4; clock++) {
        sum +=
            org.bytedeco.cuda.global.nvml.nvmlDeviceGetClockInfo(device, clock, first)
                + first.get();
      }
      sum += org.bytedeco.cuda.global.nvml.nvmlDeviceGetTemperatureV(device, temperature);
      sum += temperature.temperature();
      sum +=
          org.bytedeco.cuda.global.nvml.nvmlDeviceGetCurrentClocksEventReasons(device, wide)
              + wide.get();
      sum += org.bytedeco.cuda.global.nvml.nvmlDeviceGetMemoryInfo_v2(device, memory);
      sum += memory.total() + memory._free() + memory.used() + memory.reserved();
      sum += org.bytedeco.cuda.global.nvml.nvmlDeviceGetUtilizationRates(device, utilization);
      sum += utilization.gpu() + utilization.memory();
      sum +=
          org.bytedeco.cuda.global.nvml.nvmlDeviceGetEncoderUtilization(device, first, second)
              + first.get();
      sum +=
          org.bytedeco.cuda.global.nvml.nvmlDeviceGetDecoderUtilization(device, first, second)
              + first.get();
      return sum
          + org.bytedeco.cuda.global.nvml.nvmlDeviceGetPerformanceState(device, first)
          + first.get();
    }
  }

  /** The calls by Java's own interface; every function has one of three shapes. */
  @State(Scope.Benchmark)
  public static class Ffm {
    final LongPointer device = new LongPointer(1);
    final LongPointer out = new LongPointer(1);
    final IntPointer first = new IntPointer(1);
    final IntPointer second = new IntPointer(1);
    final BytePointer structure = new BytePointer(64).zero();

    /** Checks which library answers. */
    @Setup
    public void setUp() {
      NoOp.require(NativeLibrary.NVML);
      device.put(0, 1);
    }
  }

  /** The handles, which a compiler takes for constants in a constant record. */
  record Calls(
      MethodHandle power,
      MethodHandle energy,
      MethodHandle clock,
      MethodHandle temperature,
      MethodHandle reasons,
      MethodHandle memory,
      MethodHandle utilization,
      MethodHandle encoder,
      MethodHandle decoder,
      MethodHandle state) {
    static Calls of(boolean critical) {
      return new Calls(
          one("nvmlDeviceGetPowerUsage", critical),
          one("nvmlDeviceGetTotalEnergyConsumption", critical),
          function(
              "nvmlDeviceGetClockInfo", critical, int.class, long.class, int.class, long.class),
          one("nvmlDeviceGetTemperatureV", critical),
          one("nvmlDeviceGetCurrentClocksEventReasons", critical),
          one("nvmlDeviceGetMemoryInfo_v2", critical),
          one("nvmlDeviceGetUtilizationRates", critical),
          two("nvmlDeviceGetEncoderUtilization", critical),
          two("nvmlDeviceGetDecoderUtilization", critical),
          one("nvmlDeviceGetPerformanceState", critical));
    }

    private static MethodHandle one(String name, boolean critical) {
      return function(name, critical, int.class, long.class, long.class);
    }

    private static MethodHandle two(String name, boolean critical) {
      return function(name, critical, int.class, long.class, long.class, long.class);
    }

    private static MethodHandle function(
        String name, boolean critical, Class<?> result, Class<?>... parameters) {
      return Foreign.function("libnvidia-ml.so.1", name, critical, result, parameters);
    }

    /** All values read, so that nothing is left out. */
    long sample(Ffm f) throws Throwable {
      long device = f.device.address();
      long first = f.first.address();
      long second = f.second.address();
      long wide = f.out.address();
      long structure = f.structure.address();
      long sum = (int) power.invokeExact(device, first) + f.first.get();
      sum += (int) energy.invokeExact(device, wide) + f.out.get();
      for (int kind = 0; kind < 4; kind++) {
        sum += (int) clock.invokeExact(device, kind, first) + f.first.get();
      }
      sum += (int) temperature.invokeExact(device, structure) + f.structure.getInt(8);
      sum += (int) reasons.invokeExact(device, wide) + f.out.get();
      sum += (int) memory.invokeExact(device, structure);
      sum += f.structure.getLong(8) + f.structure.getLong(16) + f.structure.getLong(24);
      sum += (int) utilization.invokeExact(device, structure) + f.structure.getInt(0);
      sum += (int) encoder.invokeExact(device, first, second) + f.first.get();
      sum += (int) decoder.invokeExact(device, first, second) + f.first.get();
      return sum + (int) state.invokeExact(device, first) + f.first.get();
    }
  }

  /** Constants, as a compiler needs them. */
  static final class Handles {
    static final Calls USUAL = Calls.of(false);
    static final Calls CRITICAL = Calls.of(true);

    private Handles() {}
  }

  @Benchmark
  public NvmlSample fullSample_checked(Checked checked) {
    checked.source.sample(checked.sample);
    return checked.sample;
  }

  @Benchmark
  public long fullSample_raw(Raw raw) {
    return raw.sample();
  }

  @Benchmark
  public long fullSample_bytedeco(Theirs theirs) {
    return theirs.sample();
  }

  @Benchmark
  public long fullSample_ffm(Ffm f) throws Throwable {
    return Handles.USUAL.sample(f);
  }

  @Benchmark
  public long fullSample_ffmCritical(Ffm f) throws Throwable {
    return Handles.CRITICAL.sample(f);
  }
}
