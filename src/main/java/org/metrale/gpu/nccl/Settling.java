package org.metrale.gpu.nccl;

import java.util.stream.Stream;
import org.metrale.gpu.cuda.CudaStream;

/** What becomes of an operation that NCCL did not simply take. For who has the communicator. */
final class Settling {
  private final RankState rank;

  Settling(RankState rank) {
    this.rank = rank;
  }

  /**
   * What follows an answer that is not plain success: in progress is waited for, everything else is
   * an exception.
   */
  void settle(String call, int code, long sequence, CudaStream stream) {
    if (code == NcclCalls.CLOSED) {
      rank.ring.drop(sequence);
      throw new IllegalStateException(stream + " is closed");
    }
    int end = code;
    if (code == NcclCalls.IN_PROGRESS) {
      // NCCL has taken it: it belongs in the record, but its event is not there to ask yet.
      rank.progress.taken(sequence);
      end = finishStart(call, sequence, stream);
    }
    if (end != NcclCalls.SUCCESS) {
      NcclException refused = rank.refuse(call, end, rank.detail());
      if (rank.failure() == null) {
        // Otherwise NCCL may work on it until it is stopped.
        rank.ring.drop(sequence);
      }
      throw refused;
    }
  }

  private int finishStart(String call, long sequence, CudaStream stream) {
    long memory = rank.gate.memory();
    // The call has left the stream announced, so there is no time at which it could go. With the
    // hold a close is refused, and need not wait for the announcement to end.
    StreamHold hold = tryHold(stream);
    boolean over = false;
    try {
      rank.awaitProgress(
          call, rank.config.operationTimeout(), rank.detail() + " sequence=" + sequence);
      over = true;
      return NcclCalls.recordKept(memory, rank.events.of(sequence));
    } finally {
      if (hold != null || over) {
        NcclCalls.settled(memory);
      }
      if (hold != null) {
        rank.letGo(hold, over);
      }
    }
  }

  /**
   * Null if it is being closed, which then waits for the announcement, or leaves what is native.
   */
  @SuppressWarnings("MustBeClosed") // its caller does, or the communicator's end
  private static StreamHold tryHold(CudaStream stream) {
    try {
      return StreamHold.of(Stream.of(stream));
    } catch (IllegalStateException e) {
      return null;
    }
  }
}
