package org.metrale.benchmarks;

import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.annotation.Cast;
import org.bytedeco.javacpp.annotation.Const;
import org.bytedeco.javacpp.annotation.NoException;
import org.bytedeco.javacpp.annotation.Platform;
import org.metrale.nccl.ncclComm;

/**
 * Two functions of NCCL by glue as the raw layer's, from the same generator and compiler, but
 * linked to the library instead of calling through the run-time table.
 */
@Platform(
    include = {"nccl.h", "nothing.h"},
    library = "jnimetraledirect")
public final class DirectNccl {
  static {
    NoOp.map("libnccl.so.2");
    Loader.load();
  }

  private DirectNccl() {}

  /** A function with nothing in it: what the way into C and back costs. */
  @NoException
  public static native int metrale_nothing(long argument);

  /** The same with as many arguments as a call on a stream. */
  @NoException
  public static native int metrale_nothing_two(long a, long b);

  /** The same with as many arguments as a call on a stream and an event. */
  @NoException
  public static native int metrale_nothing_four(long a, long b, long c, long d);

  /** The same with as many arguments as an operation of NCCL. */
  @NoException
  public static native int metrale_nothing_eight(
      long a, long b, long c, long d, long e, long f, long g, long h);

  /** The lightest call. */
  @Cast("ncclResult_t")
  @NoException
  public static native int ncclGroupStart();

  /** The call with most arguments. */
  @Cast("ncclResult_t")
  @NoException
  public static native int ncclAllReduce(
      @Const Pointer sendbuff,
      Pointer recvbuff,
      @Cast("size_t") long count,
      @Cast("ncclDataType_t") int datatype,
      @Cast("ncclRedOp_t") int op,
      ncclComm comm,
      CUstream_st stream);
}
