package org.metrale.benchmarks;

import java.lang.invoke.MethodHandle;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.javacpp.BytePointer;
import org.metrale.global.nccl;
import org.metrale.gpu.NativeLibrary;
import org.metrale.nccl.ncclComm;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** A call through the run-time table, next to glue that is linked and to other bindings. */
@State(Scope.Benchmark)
public class RawBenchmark {
  /** What the pointers point to. */
  @State(Scope.Benchmark)
  public static class Arguments {
    final BytePointer send = new BytePointer(4096);
    final BytePointer recv = new BytePointer(4096);
    final BytePointer handle = new BytePointer(64);
    final CUstream_st stream = new CUstream_st(handle);

    /** Reads nothing from the memory, but checks which library answers. */
    @Setup
    public void setUp() {
      NoOp.map("libcuda.so.1", "libcudart.so.13", "libnccl.so.2");
      NoOp.require(NativeLibrary.NCCL);
    }
  }

  /** The handle as the classes of this project take it. */
  @State(Scope.Benchmark)
  public static class Ours {
    ncclComm comm;

    /** After the library. */
    @Setup
    public void setUp(Arguments arguments) {
      comm = new ncclComm(arguments.handle);
    }
  }

  /** The handle as the other binding takes it. */
  @State(Scope.Benchmark)
  public static class Theirs {
    org.bytedeco.cuda.nccl.ncclComm comm;

    /** After the library. */
    @Setup
    public void setUp(Arguments arguments) {
      comm = new org.bytedeco.cuda.nccl.ncclComm(arguments.handle);
    }
  }

  /** Constants, as a compiler needs them. */
  static final class Handles {
    static final MethodHandle START = start(false);
    static final MethodHandle START_CRITICAL = start(true);

    private Handles() {}

    private static MethodHandle start(boolean critical) {
      return Foreign.function("libnccl.so.2", "ncclGroupStart", critical, int.class);
    }
  }

  @Benchmark
  public int groupStart_direct(Arguments arguments) {
    return DirectNccl.ncclGroupStart();
  }

  @Benchmark
  public int groupStart_raw(Arguments arguments) {
    return nccl.ncclGroupStart();
  }

  @Benchmark
  public int groupStart_bytedeco(Arguments arguments) {
    return org.bytedeco.cuda.global.nccl.ncclGroupStart();
  }

  @Benchmark
  public int groupStart_ffm(Arguments arguments) throws Throwable {
    return (int) Handles.START.invokeExact();
  }

  @Benchmark
  public int groupStart_ffmCritical(Arguments arguments) throws Throwable {
    return (int) Handles.START_CRITICAL.invokeExact();
  }

  @Benchmark
  public int allReduce_direct(Arguments a, Ours ours) {
    return DirectNccl.ncclAllReduce(a.send, a.recv, 1024, 7, 0, ours.comm, a.stream);
  }

  @Benchmark
  public int allReduce_raw(Arguments a, Ours ours) {
    return nccl.ncclAllReduce(a.send, a.recv, 1024, 7, 0, ours.comm, a.stream);
  }

  @Benchmark
  public int allReduce_bytedeco(Arguments a, Theirs theirs) {
    return org.bytedeco.cuda.global.nccl.ncclAllReduce(
        a.send, a.recv, 1024, 7, 0, theirs.comm, a.stream);
  }
}
