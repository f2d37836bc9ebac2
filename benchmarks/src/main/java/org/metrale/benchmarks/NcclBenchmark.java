package org.metrale.benchmarks;

import java.lang.invoke.MethodHandle;
import org.metrale.global.nccl;
import org.metrale.gpu.cuda.CudaAttachment;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;

/** An all-reduce: the call of C, and what the checked layer adds to it. */
@State(Scope.Benchmark)
public class NcclBenchmark {
  /** The checked layer's objects; recorder and watchdog are on. */
  @State(Scope.Thread)
  public static class Checked {
    Rank rank;
    CudaAttachment attachment;

    /** Opens them; the context stays current on this thread, as on that of the loop in C. */
    @Setup
    @SuppressWarnings("MustBeClosed") // tearDown does
    public void setUp() throws InterruptedException {
      rank = new Rank();
      attachment = rank.context.attach();
    }

    /** Closes them. */
    @TearDown
    public void tearDown() {
      attachment.close();
      rank.close();
    }
  }

  /**
   * The same on a thread where no context is current, so that each call makes it so and undoes it.
   */
  @State(Scope.Thread)
  public static class Unattached {
    Rank rank;

    /** Opens them. */
    @Setup
    public void setUp() throws InterruptedException {
      rank = new Rank();
    }

    /** Closes them. */
    @TearDown
    public void tearDown() {
      rank.close();
    }
  }

  /** Constants, as a compiler needs them. */
  static final class Handles {
    static final MethodHandle ALL_REDUCE = allReduce(false);
    static final MethodHandle ALL_REDUCE_CRITICAL = allReduce(true);

    private Handles() {}

    private static MethodHandle allReduce(boolean critical) {
      return Foreign.function(
          "libnccl.so.2",
          "ncclAllReduce",
          critical,
          int.class,
          long.class,
          long.class,
          long.class,
          int.class,
          int.class,
          long.class,
          long.class);
    }
  }

  @Benchmark
  public int allReduce_raw(RawBenchmark.Arguments a, RawBenchmark.Ours ours) {
    return nccl.ncclAllReduce(a.send, a.recv, 1024, 7, 0, ours.comm, a.stream);
  }

  @Benchmark
  public long allReduce_checked(Checked checked) {
    return checked.rank.allReduce();
  }

  @Benchmark
  public long allReduce_unattached(Unattached unattached) {
    return unattached.rank.allReduce();
  }

  @Benchmark
  public int allReduce_empty(RawBenchmark.Arguments a) {
    return DirectNccl.metrale_nothing_eight(
        a.send.address(), 1, 2, a.send.address(), a.recv.address(), 1024, a.handle.address(), 1);
  }

  @Benchmark
  public int allReduce_bytedeco(RawBenchmark.Arguments a, RawBenchmark.Theirs theirs) {
    return org.bytedeco.cuda.global.nccl.ncclAllReduce(
        a.send, a.recv, 1024, 7, 0, theirs.comm, a.stream);
  }

  @Benchmark
  public int allReduce_ffm(RawBenchmark.Arguments a) throws Throwable {
    return (int)
        Handles.ALL_REDUCE.invokeExact(
            a.send.address(),
            a.recv.address(),
            1024L,
            7,
            0,
            a.handle.address(),
            a.stream.address());
  }

  @Benchmark
  public int allReduce_ffmCritical(RawBenchmark.Arguments a) throws Throwable {
    return (int)
        Handles.ALL_REDUCE_CRITICAL.invokeExact(
            a.send.address(),
            a.recv.address(),
            1024L,
            7,
            0,
            a.handle.address(),
            a.stream.address());
  }
}
