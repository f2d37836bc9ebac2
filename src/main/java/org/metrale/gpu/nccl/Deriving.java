package org.metrale.gpu.nccl;

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
                ? from.awaitChild(child, config.initTimeout())
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
    return Optional.of(new NcclCommunicator(unnumbered.renumbered(), parent));
  }
}
