package org.metrale.gpu.verbs;

import java.util.concurrent.atomic.AtomicReference;
import org.metrale.verbs.ibv_qp;

/** What a queue pair's two queues have in flight, and what failed first in either. */
final class WorkLedgers {
  private final AtomicReference<VerbsWorkException> firstError = new AtomicReference<>();
  private final WorkLedger sends;
  private final WorkLedger receives;

  /** The shared receive queue's; null if the queue pair has one of its own. */
  private final SharedLedger shared;

  WorkLedgers(int sendDepth, int receiveDepth, SharedLedger shared) {
    this.shared = shared;
    this.sends = new WorkLedger(sendDepth, firstError);
    this.receives = new WorkLedger(receiveDepth, firstError);
  }

  WorkLedger sends() {
    return sends;
  }

  WorkLedger receives() {
    return receives;
  }

  /** The shared receive queue's; null if there is none. */
  SharedLedger shared() {
    return shared;
  }

  /** Tells them whose they are. */
  void pairNumber(int number) {
    sends.pairNumber(number);
    receives.pairNumber(number);
  }

  /** How many completions of its own there may be at the same time. */
  int depth() {
    return sends.depth() + receives.depth();
  }

  /** The first real error; null if there is none. */
  VerbsWorkException firstError() {
    return firstError.get();
  }

  /** Posts receive requests as far as there is room for them; {@link WorkLedger#ENDED}. */
  int post(long pair, VerbsReceiveBatch batch) {
    if (receives.depth() == 0) {
      throw new IllegalArgumentException(
          shared != null
              ? "the queue pair's receives are those of shared receive queue " + shared.number()
              : "the queue pair was made without receives: VerbsQueueSettings.withReceives");
    }
    return receives.post(pair, batch);
  }

  /** Whether no call is inside, or ends in time. */
  boolean awaitIdle() {
    return sends.awaitIdle() && receives.awaitIdle();
  }

  /** Ends posts and completions; false if a call does not end in time. */
  boolean end() {
    boolean ended = sends.end();
    return receives.end() && ended;
  }

  /**
   * Destroys the queue pair; then nothing of it is in flight, and its regions are let go. Also one
   * that is half connected may have used shared requests.
   */
  void destroy(ibv_qp pair, VerbsCompletionQueue queue) {
    try {
      if (shared != null) {
        queue.keep();
      }
      VerbsObjectCalls.destroyQueuePair(pair);
      sends.abandon();
      receives.abandon();
    } finally {
      queue.remove(this);
    }
  }
}
