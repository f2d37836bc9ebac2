package org.metrale.gpu;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * Makes native calls within a time, and counts those that were given up waiting for as long as they
 * run.
 *
 * <p>For the packages of this module, not for programs.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class CallLimit {
  /** What nanoseconds cannot count: some 292 years. */
  private static final long LONGEST_SECONDS = Long.MAX_VALUE / 1_000_000_000;

  private final AtomicInteger running = new AtomicInteger();

  /** Makes a counter. */
  public CallLimit() {}

  /**
   * Whether a time can pass at all. What can wait for ever needs no thread that is left behind.
   *
   * @param limit a time
   * @return false for {@code ChronoUnit.FOREVER} and its kin
   */
  public static boolean isLimited(Duration limit) {
    return limit.toSeconds() < LONGEST_SECONDS;
  }

  /**
   * Makes a call: in the caller's thread if it may take for ever, else in one that is left behind
   * when the time is over. An interrupt does not end the wait; it is kept for later.
   *
   * @param <T> what the call answers
   * @param limit how long to wait at most
   * @param call the call
   * @param after runs when the call has returned, whether or not anybody still waits
   * @param late takes the answer if nobody waits for it any more
   * @param tooLate makes what is thrown when the time is over, from the time waited
   * @return the answer
   */
  public <T> T run(
      Duration limit,
      Supplier<T> call,
      Runnable after,
      Consumer<? super T> late,
      Function<Duration, ? extends RuntimeException> tooLate) {
    if (!isLimited(limit)) {
      try {
        return call.get();
      } finally {
        after.run();
      }
    }
    return answer(start(call, after, late), limit, tooLate);
  }

  /**
   * Makes a call that ends something, as {@link #run}. Where no thread is to be had for it the
   * caller's makes it, however long that takes: what is not ended now would stay for ever.
   *
   * @param limit how long to wait at most
   * @param call the call
   * @param after runs when the call has returned, whether or not anybody still waits
   * @param tooLate makes what is thrown when the time is over, from the time waited
   */
  public void end(
      Duration limit,
      Runnable call,
      Runnable after,
      Function<Duration, ? extends RuntimeException> tooLate) {
    Supplier<Boolean> work =
        () -> {
          call.run();
          return true;
        };
    if (!isLimited(limit)) {
      boolean unused = run(limit, work, after, done -> {}, tooLate);
      return;
    }
    boolean unused = answer(LeavableCall.startOrRun(this, work, after, done -> {}), limit, tooLate);
  }

  private static <T> T answer(
      LeavableCall<T> begun,
      Duration limit,
      Function<Duration, ? extends RuntimeException> tooLate) {
    if (!begun.awaitThroughInterrupts(limit) && begun.leave()) {
      throw tooLate.apply(begun.elapsed());
    }
    return begun.answer();
  }

  /**
   * Begins a call in a thread that may be left behind.
   *
   * @param <T> what the call answers
   * @param call the call
   * @param after runs when the call has returned, whether or not anybody still waits, and before
   *     anybody is told
   * @param late takes the answer if nobody waits for it any more
   * @return the call, to wait for
   */
  public <T> LeavableCall<T> start(Supplier<T> call, Runnable after, Consumer<? super T> late) {
    return LeavableCall.start(this, call, after, late);
  }

  /**
   * How many calls were given up waiting for and have not returned.
   *
   * @return their number now
   */
  public int running() {
    return running.get();
  }

  void left() {
    running.incrementAndGet();
  }

  void returned() {
    running.decrementAndGet();
  }
}
