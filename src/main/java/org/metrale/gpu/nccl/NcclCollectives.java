package org.metrale.gpu.nccl;

import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaStream;

/**
 * Operations that all ranks issue, with the same arguments and in the same order. A {@link
 * NcclCommunicator} has them, and has them with settings of their own: {@link
 * NcclCommunicator#configured}.
 *
 * <p>Each returns when it is queued, with a number: {@link NcclCommunicator#operation} makes an
 * object of that for waiting.
 *
 * <p><b>Threading:</b> safe for any number of threads, one call at a time.
 */
public interface NcclCollectives {
  /**
   * Combines {@code send} of all ranks into {@code recv} on every rank.
   *
   * <p><b>Shape:</b> both hold {@code [countElements]}; they may be the same.
   *
   * @param send what to combine
   * @param recv where the result goes
   * @param countElements elements, not bytes; the same on every rank
   * @param type of what type
   * @param op how to combine
   * @param stream after what else
   * @return the operation's number
   * @throws NcclException if NCCL refuses the call, or the communicator is broken
   * @throws IllegalArgumentException if a buffer is too short, overlaps, or NCCL cannot reach it
   * @throws IllegalStateException if the communicator, a buffer or the stream is closed
   * @wraps {@code ncclAllReduce}; nccl.h, NCCL 2.0 and later
   */
  long allReduce(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclRedOp op,
      CudaStream stream);

  /**
   * Copies {@code send} of the root into {@code recv} on every rank.
   *
   * <p><b>Shape:</b> both hold {@code [countElements]}; they may be the same. On other ranks {@code
   * send} is not read.
   *
   * @param send what the root copies
   * @param recv where it goes
   * @param countElements elements, not bytes; the same on every rank
   * @param type of what type
   * @param root whose buffer is copied
   * @param stream after what else
   * @return the operation's number
   * @throws NcclException if NCCL refuses the call, or the communicator is broken
   * @throws IllegalArgumentException if the root is no rank, or a buffer is too short, overlaps, or
   *     NCCL cannot reach it
   * @throws IllegalStateException if the communicator, a buffer or the stream is closed
   * @wraps {@code ncclBroadcast}; nccl.h, NCCL 2.2 and later
   */
  long broadcast(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      CudaStream stream);

  /**
   * Combines {@code send} of all ranks into {@code recv} on the root.
   *
   * <p><b>Shape:</b> both hold {@code [countElements]}; they may be the same. On other ranks {@code
   * recv} is not used: pass {@code send}.
   *
   * @param send what to combine
   * @param recv where the result goes
   * @param countElements elements, not bytes; the same on every rank
   * @param type of what type
   * @param op how to combine
   * @param root where the result goes
   * @param stream after what else
   * @return the operation's number
   * @throws NcclException if NCCL refuses the call, or the communicator is broken
   * @throws IllegalArgumentException if the root is no rank, or a buffer is too short, overlaps, or
   *     NCCL cannot reach it
   * @throws IllegalStateException if the communicator, a buffer or the stream is closed
   * @wraps {@code ncclReduce}; nccl.h, NCCL 2.0 and later
   */
  long reduce(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclRedOp op,
      int root,
      CudaStream stream);

  /**
   * Joins {@code send} of all ranks in {@code recv} on every rank, in the order of the ranks.
   *
   * <p><b>Shape:</b> {@code send} holds {@code [countElements]}, {@code recv} {@code
   * [ranks][countElements]}; in place, {@code send} is this rank's part of {@code recv}.
   *
   * @param send this rank's part
   * @param recv where all parts go
   * @param countElements elements of one part; the same on every rank
   * @param type of what type
   * @param stream after what else
   * @return the operation's number
   * @throws NcclException if NCCL refuses the call, or the communicator is broken
   * @throws IllegalArgumentException if a buffer is too short, overlaps, or NCCL cannot reach it
   * @throws IllegalStateException if the communicator, a buffer or the stream is closed
   * @wraps {@code ncclAllGather}; nccl.h, NCCL 2.0 and later
   */
  long allGather(
      CudaBuffer send, CudaBuffer recv, long countElements, NcclDataType type, CudaStream stream);

  /**
   * Combines {@code send} of all ranks and leaves in {@code recv} this rank's part of the result.
   *
   * <p><b>Shape:</b> {@code send} holds {@code [ranks][countElements]}, {@code recv} {@code
   * [countElements]}; in place, {@code recv} is this rank's part of {@code send}. Elements are
   * combined as the type says, never as bytes.
   *
   * @param send all parts
   * @param recv where this rank's part goes
   * @param countElements elements of one part; the same on every rank
   * @param type of what type
   * @param op how to combine
   * @param stream after what else
   * @return the operation's number
   * @throws NcclException if NCCL refuses the call, or the communicator is broken
   * @throws IllegalArgumentException if a buffer is too short, overlaps, or NCCL cannot reach it
   * @throws IllegalStateException if the communicator, a buffer or the stream is closed
   * @wraps {@code ncclReduceScatter}; nccl.h, NCCL 2.0 and later
   */
  long reduceScatter(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclRedOp op,
      CudaStream stream);

  /**
   * Exchanges parts: part {@code j} of {@code send} goes to rank {@code j}, part {@code i} of
   * {@code recv} comes from rank {@code i}.
   *
   * <p><b>Shape:</b> both hold {@code [ranks][countElements]} and do not overlap.
   *
   * @param send what to hand out
   * @param recv what comes in
   * @param countElements elements of one part; the same on every rank
   * @param type of what type
   * @param stream after what else
   * @return the operation's number
   * @throws NcclException if NCCL refuses the call, or the communicator is broken
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalArgumentException if a buffer is too short, overlaps, or NCCL cannot reach it
   * @throws IllegalStateException if the communicator, a buffer or the stream is closed
   * @wraps {@code ncclAlltoAll}; nccl.h, NCCL 2.28.3 and later
   */
  long allToAll(
      CudaBuffer send, CudaBuffer recv, long countElements, NcclDataType type, CudaStream stream);

  /**
   * Joins {@code send} of all ranks in {@code recv} on the root.
   *
   * <p><b>Shape:</b> {@code send} holds {@code [countElements]}, on the root {@code recv} {@code
   * [ranks][countElements]}; in place, {@code send} is the root's part of {@code recv}. On other
   * ranks {@code recv} is not used: pass {@code send}.
   *
   * @param send this rank's part
   * @param recv where all parts go
   * @param countElements elements of one part; the same on every rank
   * @param type of what type
   * @param root where the parts go
   * @param stream after what else
   * @return the operation's number
   * @throws NcclException if NCCL refuses the call, or the communicator is broken
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalArgumentException if the root is no rank, or a buffer is too short, overlaps, or
   *     NCCL cannot reach it
   * @throws IllegalStateException if the communicator, a buffer or the stream is closed
   * @wraps {@code ncclGather}; nccl.h, NCCL 2.28.3 and later
   */
  long gather(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      CudaStream stream);

  /**
   * Hands the parts of {@code send} on the root to all ranks.
   *
   * <p><b>Shape:</b> on the root {@code send} holds {@code [ranks][countElements]}; {@code recv}
   * holds {@code [countElements]}; in place, {@code recv} is the root's part of {@code send}. On
   * other ranks {@code send} is not used: pass {@code recv}.
   *
   * @param send what to hand out
   * @param recv where this rank's part goes
   * @param countElements elements of one part; the same on every rank
   * @param type of what type
   * @param root who hands out
   * @param stream after what else
   * @return the operation's number
   * @throws NcclException if NCCL refuses the call, or the communicator is broken
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalArgumentException if the root is no rank, or a buffer is too short, overlaps, or
   *     NCCL cannot reach it
   * @throws IllegalStateException if the communicator, a buffer or the stream is closed
   * @wraps {@code ncclScatter}; nccl.h, NCCL 2.28.3 and later
   */
  long scatter(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      CudaStream stream);
}
