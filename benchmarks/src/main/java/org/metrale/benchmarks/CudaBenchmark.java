package org.metrale.benchmarks;

import java.lang.invoke.MethodHandle;
import org.bytedeco.cuda.cudart.CUevent_st;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.cuda.global.cudart;
import org.bytedeco.javacpp.BytePointer;
import org.metrale.global.cuda;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaEvent;
import org.metrale.gpu.cuda.CudaStream;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** The three calls that a program makes for every piece of work. */
@State(Scope.Benchmark)
public class CudaBenchmark {
  /** The checked layer's objects. */
  @State(Scope.Thread)
  public static class Checked {
    CudaContext context;
    CudaStream stream;
    CudaEvent event;

    /** Opens them. */
    @Setup
    @SuppressWarnings("MustBeClosed") // tearDown does
    public void setUp() {
      NoOp.require(NativeLibrary.CUDA);
      context = CudaContext.openPrimary(0);
      stream = CudaStream.create(context);
      event = CudaEvent.create(context);
    }

    /** Closes them. */
    @TearDown
    public void tearDown() {
      event.close();
      stream.close();
      context.close();
    }
  }

  /** Handles that nothing looks at. */
  @State(Scope.Benchmark)
  public static class Raw {
    final BytePointer handle = new BytePointer(64);
    final CUstream_st stream = new CUstream_st(handle);
    final CUevent_st event = new CUevent_st(handle);

    /** Checks which library answers. */
    @Setup
    public void setUp() {
      NoOp.map("libcuda.so.1", "libcudart.so.13");
      NoOp.require(NativeLibrary.CUDA);
    }
  }

  /** Constants, as a compiler needs them. */
  static final class Handles {
    static final MethodHandle QUERY = query(false);
    static final MethodHandle QUERY_CRITICAL = query(true);
    static final MethodHandle RECORD = record(false);
    static final MethodHandle RECORD_CRITICAL = record(true);
    static final MethodHandle WAIT = waitFor(false);
    static final MethodHandle WAIT_CRITICAL = waitFor(true);

    private Handles() {}

    private static MethodHandle query(boolean critical) {
      return Foreign.function("libcuda.so.1", "cuStreamQuery", critical, int.class, long.class);
    }

    private static MethodHandle record(boolean critical) {
      return Foreign.function(
          "libcuda.so.1", "cuEventRecord", critical, int.class, long.class, long.class);
    }

    private static MethodHandle waitFor(boolean critical) {
      return Foreign.function(
          "libcuda.so.1",
          "cuStreamWaitEvent",
          critical,
          int.class,
          long.class,
          long.class,
          int.class);
    }
  }

  @Benchmark
  public boolean streamQuery_checked(Checked checked) {
    return checked.stream.isIdle();
  }

  @Benchmark
  public int streamQuery_raw(Raw raw) {
    return cuda.cuStreamQuery(raw.stream);
  }

  @Benchmark
  public int streamQuery_empty(Raw raw) {
    return DirectNccl.metrale_nothing_two(raw.handle.address(), 1);
  }

  @Benchmark
  public int streamQuery_bytedeco(Raw raw) {
    return cudart.cuStreamQuery(raw.stream);
  }

  @Benchmark
  public int streamQuery_ffm(Raw raw) throws Throwable {
    return (int) Handles.QUERY.invokeExact(raw.stream.address());
  }

  @Benchmark
  public int streamQuery_ffmCritical(Raw raw) throws Throwable {
    return (int) Handles.QUERY_CRITICAL.invokeExact(raw.stream.address());
  }

  @Benchmark
  public void eventRecord_checked(Checked checked) {
    checked.stream.record(checked.event);
  }

  @Benchmark
  public int eventRecord_raw(Raw raw) {
    return cuda.cuEventRecord(raw.event, raw.stream);
  }

  @Benchmark
  public int eventRecord_empty(Raw raw) {
    return DirectNccl.metrale_nothing_four(raw.handle.address(), 1, raw.handle.address(), 2);
  }

  @Benchmark
  public int eventRecord_bytedeco(Raw raw) {
    return cudart.cuEventRecord(raw.event, raw.stream);
  }

  @Benchmark
  public int eventRecord_ffm(Raw raw) throws Throwable {
    return (int) Handles.RECORD.invokeExact(raw.event.address(), raw.stream.address());
  }

  @Benchmark
  public int eventRecord_ffmCritical(Raw raw) throws Throwable {
    return (int) Handles.RECORD_CRITICAL.invokeExact(raw.event.address(), raw.stream.address());
  }

  @Benchmark
  public void streamWait_checked(Checked checked) {
    checked.stream.waitFor(checked.event);
  }

  @Benchmark
  public int streamWait_raw(Raw raw) {
    return cuda.cuStreamWaitEvent(raw.stream, raw.event, 0);
  }

  @Benchmark
  public int streamWait_empty(Raw raw) {
    return DirectNccl.metrale_nothing_four(raw.handle.address(), 1, raw.handle.address(), 2);
  }

  @Benchmark
  public int streamWait_bytedeco(Raw raw) {
    return cudart.cuStreamWaitEvent(raw.stream, raw.event, 0);
  }

  @Benchmark
  public int streamWait_ffm(Raw raw) throws Throwable {
    return (int) Handles.WAIT.invokeExact(raw.stream.address(), raw.event.address(), 0);
  }

  @Benchmark
  public int streamWait_ffmCritical(Raw raw) throws Throwable {
    return (int) Handles.WAIT_CRITICAL.invokeExact(raw.stream.address(), raw.event.address(), 0);
  }
}
