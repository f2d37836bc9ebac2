package org.metrale.gpu.nvml;

import java.time.Duration;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.metrale.gpu.CallLimit;

/**
 * Makes calls of NVML within a time. What such a call writes into belongs to the thread that makes
 * it, so one that comes back late writes into nothing that others use.
 */
final class NvmlCallers {
  /** A driver that hangs must not take more threads than this, however often it is asked. */
  static final int MOST_LATE = 16;

  private static final CallLimit LATE = new CallLimit();

  private NvmlCallers() {}

  /** What a call is about: its C name, and the device in words or an empty text. */
  record Call(String name, String place) {}

  /** How many calls were given up waiting for and have not returned. */
  static int late() {
    return LATE.running();
  }

  /**
   * Makes a call.
   *
   * @param after runs when it has returned, or if it is not made
   * @param late takes the answer if nobody waits for it any more
   */
  static <T> T within(
      Duration limit, Call call, Supplier<T> work, Runnable after, Consumer<? super T> late) {
    if (LATE.running() >= MOST_LATE && CallLimit.isLimited(limit)) {
      after.run();
      throw NvmlException.unfinished(
          call.name, detail(call, "not called: " + MOST_LATE + " earlier calls have not returned"));
    }
    return LATE.run(limit, work, after, late, waited -> late(call, waited, limit));
  }

  /**
   * Makes a call that ends something, also if others have not returned, and in this thread where no
   * other is to be had.
   *
   * @param after runs when it has returned
   */
  static void end(Duration limit, Call call, Runnable work, Runnable after) {
    LATE.end(limit, work, after, waited -> late(call, waited, limit));
  }

  private static NvmlException late(Call call, Duration waited, Duration limit) {
    return NvmlException.unfinished(
        call.name, detail(call, "elapsed=" + waited + " limit=" + limit));
  }

  private static String detail(Call call, String more) {
    return call.place.isEmpty() ? more : call.place + " " + more;
  }
}
