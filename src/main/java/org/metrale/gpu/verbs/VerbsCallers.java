package org.metrale.gpu.verbs;

import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.metrale.gpu.CallLimit;

/**
 * Makes the calls that ask a driver, each within a time: a device that never answers costs a thread
 * of this layer, and its caller an exception. What is used by such a call stays open until it
 * returns, and what it makes too late is closed.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
final class VerbsCallers {
  /** A device that hangs must not take more threads than this, however often it is asked. */
  static final int MOST_LATE = 16;

  private final CallLimit late;
  private final Duration limit;

  VerbsCallers(Duration limit) {
    this(limit, new CallLimit());
  }

  /** Of several that count their late calls together. */
  VerbsCallers(Duration limit, CallLimit late) {
    this.late = late;
    if (limit.isNegative() || limit.isZero()) {
      throw new IllegalArgumentException("callTimeout " + limit + " is not positive");
    }
    this.limit = limit;
  }

  /** What a call is about: its C name, and on what in words. */
  record Call(String name, String place) {}

  Duration limit() {
    return limit;
  }

  /** How many calls were given up waiting for and have not returned. */
  int late() {
    return late.running();
  }

  /**
   * Makes a call.
   *
   * @param tooLate takes the answer if nobody waits for it any more
   */
  <T> T within(Call call, Supplier<T> work, Consumer<? super T> tooLate) {
    return within(limit, call, work, () -> {}, tooLate);
  }

  /**
   * Makes a call.
   *
   * @param time how long to wait
   * @param after runs when it has returned, or if it is not made
   * @param tooLate takes the answer if nobody waits for it any more
   */
  <T> T within(
      Duration time, Call call, Supplier<T> work, Runnable after, Consumer<? super T> tooLate) {
    if (late.running() >= MOST_LATE && CallLimit.isLimited(time)) {
      after.run();
      throw unfinished(call, "not called: " + MOST_LATE + " earlier calls have not returned");
    }
    return late.run(time, work, after, tooLate, waited -> late(call, waited, time));
  }

  /**
   * Makes a call that ends something, also if others have not returned, and in this thread where no
   * other is to be had.
   *
   * @param after runs when it has returned
   */
  void end(Duration time, Call call, Runnable work, Runnable after) {
    late.end(time, work, after, waited -> late(call, waited, time));
  }

  private static VerbsException late(Call call, Duration waited, Duration time) {
    return unfinished(call, "elapsed=" + waited + " limit=" + time);
  }

  private static VerbsException unfinished(Call call, String more) {
    return VerbsCalls.unfinished(call.name, call.place + " " + more);
  }
}
