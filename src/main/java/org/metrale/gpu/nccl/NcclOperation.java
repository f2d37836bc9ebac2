package org.metrale.gpu.nccl;

import java.time.Duration;
import java.util.concurrent.CompletionStage;
import org.metrale.gpu.Backoff;

/**
 * One operation that was issued: whether it is done, and how to wait for that.
 *
 * <p>A value over a communicator and a number; it owns nothing.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class NcclOperation {
  private final RankState state;
  private final long sequence;

  NcclOperation(RankState state, long sequence) {
    this.state = state;
    this.sequence = sequence;
  }

  /**
   * The operation's number on its rank.
   *
   * @return from 0, in the order of issue
   */
  public long sequence() {
    return sequence;
  }

  /**
   * Whether the operation is done.
   *
   * @return false while it is queued or running
   * @throws NcclException if the communicator broke first, saying how
   */
  public boolean isDone() {
    return state.progress.isDone(sequence);
  }

  /**
   * Waits until the operation is done.
   *
   * <p><b>Blocking:</b> at most {@code timeout}. The time running out is an answer and breaks
   * nothing; the communicator's own deadline goes on beside it.
   *
   * @param timeout how long to wait at most
   * @return false if the time ended first
   * @throws NcclException if the communicator broke first, saying how
   * @throws InterruptedException if the thread was interrupted while it waited
   */
  public boolean await(Duration timeout) throws InterruptedException {
    return Backoff.await(this::isDone, timeout);
  }

  /**
   * Completes when the operation is done; no thread of the program waits.
   *
   * @return completes normally, or with the {@link NcclException} that broke the communicator
   */
  public CompletionStage<Void> completion() {
    return state.progress.completion(sequence);
  }

  /** Forgets an operation that was never issued. */
  void drop() {
    if (state.failure() == null && state.progress.lastIssued() < sequence) {
      state.ring.drop(sequence);
    }
  }

  @Override
  public String toString() {
    return "operation " + sequence + " of " + state;
  }
}
