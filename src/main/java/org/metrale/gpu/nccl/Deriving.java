package org.metrale.gpu.nccl;

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
      // Only now: an abort that had the gate before has freed what NCCL would be called with.
      from.requireNotAborted();
      Joining.derive(
          call, unnumbered, from, child -> nativeCall.run(child, from), config.initTimeout());
    } finally {
      from.gate.leave();
    }
    if (unnumbered.handle() == 0) {
      unnumbered.free();
      return Optional.empty();
    }
    try {
      return Optional.of(NcclCommunicator.of(renumbered(unnumbered), parent));
    } catch (RuntimeException | Error e) {
      Joining.giveUp(unnumbered, e);
      throw e;
    }
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
