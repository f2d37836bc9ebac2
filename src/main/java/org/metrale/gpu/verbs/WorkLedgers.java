package org.metrale.gpu.verbs;

import java.util.concurrent.atomic.AtomicReference;
import org.metrale.gpu.NativeResource;
import org.metrale.verbs.ibv_qp;

/** What a queue pair's two queues have in flight, and what failed first in either. */
final class WorkLedgers {
  private final AtomicReference<VerbsWorkException> firstError = new AtomicReference<>();
  private final WorkLedger sends;
  private final WorkLedger receives;

  /** The shared receive queue's; null if the queue pair has one of its own. */
  private final SharedLedger shared;

  /** Whether the peer may have sent something. */
  private volatile boolean received;

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

  /** From now on a peer may send. */
  void mayReceive() {
    received = true;
  }

  boolean mayHaveReceived() {
    return received;
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

  /**
   * Ends the calls of a queue pair and destroys it. Whatever becomes of that, nothing is posted any
   * more, and of its completions nobody takes note.
   *
   * @param needs lets go of what the queue pair stands on
   */
  void close(NativeResource of, ibv_qp pair, VerbsCompletionQueue queue, Runnable needs) {
    if (!end()) {
      // What it stands on is kept for that call.
      throw new IllegalStateException(of + " is left as it is: a call does not end");
    }
    queue.device().end("ibv_destroy_qp", 0, () -> destroy(pair, queue), needs);
  }

  /** Ends posts and completions; false if a call does not end in time. */
  private boolean end() {
    boolean ended = sends.end();
    return receives.end() && ended;
  }

  /**
   * Destroys the queue pair; then nothing of it is in flight, and its regions are let go. Also one
   * that is half connected may have used shared requests.
   */
  private void destroy(ibv_qp pair, VerbsCompletionQueue queue) {
    try {
      if (shared != null) {
        queue.keep();
      }
    } finally {
      try {
        VerbsObjectCalls.destroyQueuePair(pair);
        sends.abandon();
        receives.abandon();
      } finally {
        queue.remove(this);
      }
    }
  }
}
