package org.metrale.benchmarks;

import java.lang.invoke.MethodHandle;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import org.bytedeco.javacpp.BytePointer;
import org.metrale.global.cufile;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cuda.CudaAttachment;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cufile.CuFileBuffer;
import org.metrale.gpu.cufile.CuFileDriver;
import org.metrale.gpu.cufile.CuFileMemory;
import org.metrale.gpu.cufile.CuFileOptions;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** Registers a buffer and takes it back: two calls that answer a structure. */
@State(Scope.Benchmark)
public class CuFileBenchmark {
  private static final long BYTES = 4096;

  /** The checked layer's objects. */
  @State(Scope.Thread)
  public static class Checked {
    CudaContext context;
    DeviceMemory memory;
    CuFileDriver driver;
    CuFileMemory range;
    CudaAttachment attachment;

    /** Opens them; the context stays current on this thread, as on that of the loop in C. */
    @Setup
    @SuppressWarnings("MustBeClosed") // tearDown does
    public void setUp() {
      NoOp.require(NativeLibrary.CUDA);
      NoOp.require(NativeLibrary.CUFILE);
      context = CudaContext.openPrimary(0);
      memory = DeviceMemory.allocate(context, BYTES);
      // In the caller's thread, as C's loop; a deadline costs a hand-over to another one.
      CuFileOptions usual = CuFileOptions.defaults();
      Duration forever = ChronoUnit.FOREVER.getDuration();
      driver = CuFileDriver.open(usual.withTimeouts(forever, usual.transferTimeout()));
      if (!driver.isCuFileOpen()) {
        throw driver.unavailabilityCause().orElseThrow();
      }
      range = CuFileMemory.of(memory);
      attachment = context.attach();
    }

    /** Closes them. */
    @TearDown
    public void tearDown() {
      attachment.close();
      driver.close();
      memory.close();
      context.close();
    }
  }

  /** Memory that nothing looks at. */
  @State(Scope.Benchmark)
  public static class Raw {
    final BytePointer memory = new BytePointer(BYTES);

    /** Checks which library answers. */
    @Setup
    public void setUp() {
      NoOp.map("libcuda.so.1", "libcudart.so.13", "libcufile.so.0");
      NoOp.require(NativeLibrary.CUFILE);
    }
  }

  /** Constants, as a compiler needs them; the eight bytes of the answer come in one register. */
  static final class Handles {
    static final MethodHandle REGISTER = register(false);
    static final MethodHandle REGISTER_CRITICAL = register(true);
    static final MethodHandle DEREGISTER = deregister(false);
    static final MethodHandle DEREGISTER_CRITICAL = deregister(true);

    private Handles() {}

    private static MethodHandle register(boolean critical) {
      return Foreign.function(
          "libcufile.so.0",
          "cuFileBufRegister",
          critical,
          long.class,
          long.class,
          long.class,
          int.class);
    }

    private static MethodHandle deregister(boolean critical) {
      return Foreign.function(
          "libcufile.so.0", "cuFileBufDeregister", critical, long.class, long.class);
    }
  }

  @Benchmark
  public boolean registerDeregister_checked(Checked checked) {
    try (CuFileBuffer buffer = CuFileBuffer.register(checked.driver, checked.range)) {
      return buffer.isRegistered();
    }
  }

  @Benchmark
  public long registerDeregister_flat(Raw raw) {
    long address = raw.memory.address();
    return cufile.metrale_cufile_buffer_register(0, address, BYTES, 0)
        | cufile.metrale_cufile_buffer_deregister(0, address);
  }

  @Benchmark
  public int registerDeregister_raw(Raw raw) {
    return cufile.cuFileBufRegister(raw.memory, BYTES, 0).err()
        | cufile.cuFileBufDeregister(raw.memory).err();
  }

  @Benchmark
  public int registerDeregister_bytedeco(Raw raw) {
    return org.bytedeco.cuda.global.cufile.cuFileBufRegister(raw.memory, BYTES, 0).err()
        | org.bytedeco.cuda.global.cufile.cuFileBufDeregister(raw.memory).err();
  }

  @Benchmark
  public long registerDeregister_ffm(Raw raw) throws Throwable {
    long address = raw.memory.address();
    return (long) Handles.REGISTER.invokeExact(address, BYTES, 0)
        | (long) Handles.DEREGISTER.invokeExact(address);
  }

  @Benchmark
  public long registerDeregister_ffmCritical(Raw raw) throws Throwable {
    long address = raw.memory.address();
    return (long) Handles.REGISTER_CRITICAL.invokeExact(address, BYTES, 0)
        | (long) Handles.DEREGISTER_CRITICAL.invokeExact(address);
  }
}
