package org.metrale.gpu.rail;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.function.LongConsumer;

/**
 * What a transfer in the background is done under.
 *
 * @param timeout how long it may take
 * @param progress told after each piece how many bytes have arrived, by the thread that drives the
 *     rails; must not wait
 */
public record TransferTerms(Duration timeout, Optional<LongConsumer> progress) {
  /**
   * Refuses nulls.
   *
   * @param timeout how long it may take
   * @param progress told after each piece how many bytes have arrived
   */
  public TransferTerms {
    Objects.requireNonNull(timeout, "timeout");
    Objects.requireNonNull(progress, "progress");
  }

  /**
   * A time limit and nobody to tell.
   *
   * @param timeout how long it may take
   * @return the terms
   */
  public static TransferTerms within(Duration timeout) {
    return new TransferTerms(timeout, Optional.empty());
  }

  /**
   * The same with somebody to tell of progress.
   *
   * @param listener told after each piece how many bytes have arrived; must not wait
   * @return the terms
   */
  public TransferTerms telling(LongConsumer listener) {
    return new TransferTerms(timeout, Optional.of(listener));
  }
}
