package org.metrale.gpu.nccl;

import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** Makes a communicator out of another one: split, shrink, grow. */
final class Deriving {
  private Deriving() {}

  interface Call {
    int run(RankState child, RankState from);
  }

  static Optional<NcclCommunicator> from(
      NcclCommunicator parent, NcclConfig config, String call, Call nativeCall)
      throws InterruptedException {
    parent.requireOpen();
    RankState from = parent.state();
    from.requireNotAborted();
    RankState unnumbered = new RankState(from.context, config, from.rank, from.ranks);
    from.gate.enter(config.initTimeout());
    try {
      Joining.join(
          call,
          List.of(unnumbered),
          child -> {
            int code = nativeCall.run(child, from);
            return code == NcclCalls.IN_PROGRESS
                ? awaitChild(from, child, config.initTimeout())
                : code;
          },
          config.initTimeout());
    } finally {
      from.gate.leave();
    }
    if (unnumbered.handle() == 0) {
      unnumbered.free();
      return Optional.empty();
    }
    return Optional.of(new NcclCommunicator(renumbered(unnumbered), parent));
  }

  /** Waits until a call on a communicator has made a child, or failed to; how it ended. */
  private static int awaitChild(RankState from, RankState child, Duration timeout) {
    int[] code = {NcclCalls.IN_PROGRESS};
    Waiting.quietly(
        () -> {
          code[0] = (int) NcclCalls.ncclCommGetAsyncError(from.handle());
          return child.handle() != 0 || code[0] != NcclCalls.IN_PROGRESS;
        },
        timeout);
    return child.handle() != 0 ? NcclCalls.SUCCESS : code[0];
  }

  /** A child's rank and ranks, which its parent cannot tell. */
  private static RankState renumbered(RankState child) {
    int[] three = new int[3];
    int code = NcclCalls.describe(child.handle(), three);
    if (code != NcclCalls.SUCCESS) {
      throw NcclCalls.failed("ncclCommUserRank", code, child.handle(), child.detail());
    }
    child.ranks = three[0];
    child.rank = three[1];
    return child;
  }
}
