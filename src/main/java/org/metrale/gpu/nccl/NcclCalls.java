package org.metrale.gpu.nccl;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.ByteBuffer;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.LongPointer;
import org.metrale.global.nccl;
import org.metrale.gpu.LibraryThrewException;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cuda.CudaDriver;

/**
 * The one class that calls the generated code of NCCL. Codes come back as they are, since in
 * progress is an answer; {@link #failed} turns the others into exceptions.
 */
final class NcclCalls {
  static final int SUCCESS = 0;
  static final int IN_PROGRESS = 7;

  /** The stream was closed. */
  static final int CLOSED = -1;

  /** The thread does not own the communicator any more. */
  static final int AGAIN = -2;

  /** Less a {@code CUresult}: the driver refused. */
  static final int CUDA = -1000;

  static final int WINDOW_DEFAULT = nccl.NCCL_WIN_DEFAULT;
  static final int WINDOW_SYMMETRIC = nccl.NCCL_WIN_COLL_SYMMETRIC;
  static final int SHRINK_DEFAULT = nccl.NCCL_SHRINK_DEFAULT;
  static final int SHRINK_ABORT = nccl.NCCL_SHRINK_ABORT;
  static final int NO_COLOR = nccl.NCCL_SPLIT_NOCOLOR;

  /** The size of one operation of a group. */
  static final int OPERATION_BYTES = 96;

  private static final int TEXT_BYTES = 1024;

  private NcclCalls() {}

  /** Lets the shims reach the driver. Before anything that needs a context or a stream. */
  static void useDriver() {
    NcclLibrary.require();
    nccl.metrale_nccl_use_driver(CudaDriver.functions());
  }

  static NcclException failed(String call, int code, long comm, String detail) {
    if (code <= CUDA) {
      String cuda = "CUresult=" + (CUDA - code);
      String more = detail.isEmpty() ? cuda : detail + " " + cuda;
      int unhandled = NcclResult.UNHANDLED_CUDA_ERROR.code();
      return new NcclException(
          call, NcclResult.UNHANDLED_CUDA_ERROR, text(unhandled), lastError(comm), more);
    }
    return new NcclException(call, new NcclResult(code), text(code), lastError(comm), detail);
  }

  /** A call that was broken off by a C++ exception has failed like one that answers so. */
  static NcclException failed(String call, LibraryThrewException thrown, String detail) {
    NcclException out =
        new NcclException(call, NcclResult.INTERNAL_ERROR, thrown.getMessage(), "", detail);
    out.initCause(thrown);
    return out;
  }

  /** NCCL's words for a code; empty for one that NCCL never made. */
  static String text(int code) {
    if (!NativeLibrary.NCCL.supports("ncclGetErrorString")) {
      return "";
    }
    byte[] text = new byte[TEXT_BYTES];
    return new String(text, 0, nccl.metrale_ncclGetErrorString(code, text, text.length), UTF_8);
  }

  /** What a communicator (or, for 0, the process) said last; empty where NCCL cannot tell. */
  static String lastError(long comm) {
    if (!NativeLibrary.NCCL.supports("ncclGetLastError")) {
      return "";
    }
    byte[] text = new byte[TEXT_BYTES];
    return new String(text, 0, nccl.metrale_ncclGetLastError(comm, text, text.length), UTF_8)
        .strip();
  }

  static int version() {
    return NativeLibrary.NCCL.versionCode().orElse(nccl.NCCL_VERSION_CODE);
  }

  static byte[] ncclGetUniqueId() {
    byte[] id = new byte[NcclUniqueId.BYTES];
    int code = nccl.metrale_ncclGetUniqueId(id);
    if (code != SUCCESS) {
      throw failed("ncclGetUniqueId", code, 0, "");
    }
    return id;
  }

  /** Memory for one handle, which outlives a call that hangs. */
  static LongPointer cell() {
    return new LongPointer(1).put(0);
  }

  /** A handle that another thread may be writing. */
  static long read(LongPointer cell) {
    return cell.get();
  }

  static BytePointer text(String text) {
    return text.isEmpty() ? new BytePointer() : new BytePointer(text);
  }

  static int submit(
      long what,
      long rank,
      long send,
      long recv,
      long count,
      int peer,
      long slot,
      long generation,
      long event) {
    return nccl.metrale_nccl_submit(what, rank, send, recv, count, peer, slot, generation, event);
  }

  /** The same with settings of this call alone, in the order of the shim. */
  static int submitConfigured(
      long what,
      long rank,
      long send,
      long recv,
      long count,
      int peer,
      long slot,
      long generation,
      long event,
      long[] nine) {
    return nccl.metrale_nccl_submit_configured(
        what, rank, send, recv, count, peer, slot, generation, event, nine);
  }

  /** Records an event behind an operation that NCCL answered "in progress" to. */
  static int recordKept(long rank, long event) {
    return nccl.metrale_nccl_rank_record(rank, event);
  }

  /** Ends what {@code submit} kept of a stream, where NCCL answered "in progress". */
  static void settled(long rank) {
    nccl.metrale_nccl_rank_settled(rank);
  }

  /** Queues one operation by the communicator's owner. */
  static int submitOwned(
      long what,
      long rank,
      long epoch,
      long send,
      long recv,
      long count,
      long slot,
      long generation) {
    return nccl.metrale_nccl_submit_owned(what, rank, epoch, send, recv, count, slot, generation);
  }

  /** The same on the stream of the owner's operation before. */
  static int submitAgain(long what, long rank, long epoch, long send, long recv, long count) {
    return nccl.metrale_nccl_submit_again(what, rank, epoch, send, recv, count);
  }

  /** Native memory from which a communicator issues operations. */
  static long openRank(long comm) {
    return nccl.metrale_nccl_rank_open(comm);
  }

  /** Begins an ownership; its epoch. */
  static long own(long rank, long events, int capacity, long next) {
    return nccl.metrale_nccl_rank_own(rank, events, capacity, next);
  }

  static void disown(long rank) {
    nccl.metrale_nccl_rank_disown(rank);
  }

  /** Shows all processors' stores, and shows them this one's. */
  static void barrier() {
    nccl.metrale_nccl_barrier();
  }

  static void recycleRank(long rank) {
    nccl.metrale_nccl_rank_recycle(rank);
  }

  static int group(long operations, int count) {
    return nccl.metrale_nccl_group_run(operations, count);
  }

  static int record(long slot, long generation, long event) {
    return nccl.metrale_nccl_record(slot, generation, event);
  }

  static int passed(long context, long events, int capacity, int first, int count) {
    return nccl.metrale_nccl_passed(context, events, capacity, first, count);
  }

  /** The state in the lower half, the call's own result in the upper. */
  static long ncclCommGetAsyncError(long comm) {
    return nccl.metrale_ncclCommGetAsyncError(comm);
  }

  static int ncclCommInitRank(
      long context, int ranks, int rank, byte[] ids, long[] config, LongPointer cell) {
    return nccl.metrale_ncclCommInitRank(
        context, ranks, rank, ids, ids.length / NcclUniqueId.BYTES, config, cell.address());
  }

  static int ncclCommSplit(
      long context, long comm, int color, int key, long[] config, LongPointer cell) {
    return nccl.metrale_ncclCommSplit(context, comm, color, key, config, cell.address());
  }

  static int ncclCommShrink(
      long context, long comm, int[] excluded, long[] config, int flags, LongPointer cell) {
    return nccl.metrale_ncclCommShrink(
        context, comm, excluded, excluded.length, config, flags, cell.address());
  }

  static int ncclCommGrow(
      long context, long comm, int ranks, byte[] id, int rank, long[] config, LongPointer cell) {
    byte[] given = id.length == 0 ? new byte[NcclUniqueId.BYTES] : id;
    return nccl.metrale_ncclCommGrow(
        context, comm, ranks, given, id.length != 0, rank, config, cell.address());
  }

  static int ncclCommGetUniqueId(long comm, byte[] id) {
    return nccl.metrale_ncclCommGetUniqueId(comm, id);
  }

  static int ncclCommFinalize(long context, long comm) {
    return nccl.metrale_ncclCommFinalize(context, comm);
  }

  static int ncclCommDestroy(long context, long comm) {
    return nccl.metrale_ncclCommDestroy(context, comm);
  }

  static int ncclCommAbort(long context, long comm) {
    return nccl.metrale_ncclCommAbort(context, comm);
  }

  static int ncclCommRevoke(long comm) {
    return nccl.metrale_ncclCommRevoke(comm);
  }

  static int ncclCommSuspend(long context, long comm) {
    return nccl.metrale_ncclCommSuspend(context, comm);
  }

  static int ncclCommResume(long context, long comm) {
    return nccl.metrale_ncclCommResume(context, comm);
  }

  static int ncclCommMemStats(long comm, long[] four) {
    return nccl.metrale_ncclCommMemStats(comm, four);
  }

  /** Thirteen numbers, in the order of the shim. */
  static int ncclCommQueryProperties(long comm, long[] thirteen) {
    return nccl.metrale_ncclCommQueryProperties(comm, thirteen);
  }

  /** Ranks, this rank, the device. */
  static int describe(long comm, int[] three) {
    return nccl.metrale_ncclCommDescribe(comm, three);
  }

  static int ncclCommRegister(long context, long comm, long address, long bytes, LongPointer cell) {
    return nccl.metrale_ncclCommRegister(context, comm, address, bytes, cell.address());
  }

  static int ncclCommDeregister(long context, long comm, long handle) {
    return nccl.metrale_ncclCommDeregister(context, comm, handle);
  }

  static int ncclCommWindowRegister(
      long context, long comm, long address, long bytes, int flags, LongPointer cell) {
    return nccl.metrale_ncclCommWindowRegister(
        context, comm, address, bytes, flags, cell.address());
  }

  static int ncclCommWindowDeregister(long context, long comm, long window) {
    return nccl.metrale_ncclCommWindowDeregister(context, comm, window);
  }

  static int ncclMemAlloc(long context, long bytes, LongPointer cell) {
    return nccl.metrale_ncclMemAlloc(context, bytes, cell.address());
  }

  static int ncclMemFree(long context, long address) {
    return nccl.metrale_ncclMemFree(context, address);
  }

  static int ncclRedOpCreatePreMulSum(
      long comm, long scalar, NcclDataType type, boolean onDevice, int[] op) {
    return nccl.metrale_ncclRedOpCreatePreMulSum(comm, scalar, type.code(), onDevice, op);
  }

  static int ncclRedOpDestroy(long comm, int op) {
    return nccl.metrale_ncclRedOpDestroy(comm, op);
  }

  static long address(ByteBuffer direct) {
    return new BytePointer(direct).address();
  }

  static BytePointer pointer(long address, long lengthBytes) {
    BytePointer out = new BytePointer(new Address(address));
    out.capacity(lengthBytes);
    return out;
  }

  /** A pointer to a given place, which JavaCPP never frees. */
  private static final class Address extends org.bytedeco.javacpp.Pointer {
    Address(long address) {
      this.address = address;
    }
  }
}
