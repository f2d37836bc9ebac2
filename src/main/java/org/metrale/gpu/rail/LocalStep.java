package org.metrale.gpu.rail;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.metrale.gpu.BoundedCall;

/** Something that this side's device has to do, which is waited for no longer than it may take. */
final class LocalStep {
  /** How long the end of something may take that nobody wants any more. */
  private static final Duration UNDOING = Duration.ofSeconds(5);

  private LocalStep() {}

  /**
   * Takes a step.
   *
   * @param late is given the answer if it comes too late
   * @throws TimeoutException if the device does not answer in time
   */
  static <T> T take(Supplier<T> step, Deadline deadline, Consumer<T> late) throws TimeoutException {
    return await(BoundedCall.start(step), deadline, late);
  }

  private static <T> T await(CompletableFuture<T> answer, Deadline deadline, Consumer<T> late)
      throws TimeoutException {
    try {
      long left = deadline.remainingNanos(System.nanoTime());
      return BoundedCall.await(answer, Duration.ofNanos(left));
    } catch (TimeoutException e) {
      CompletableFuture<Void> unused = answer.thenAccept(late);
      throw e;
    }
  }

  /**
   * Takes a step of a handshake.
   *
   * @param peer whom the handshake is with
   * @param tooLate what is said if the device does not answer in time
   * @param late is given the answer if it comes too late
   */
  static <T> T take(
      String peer,
      HandshakeException.Fault tooLate,
      Supplier<T> step,
      Deadline deadline,
      Consumer<T> late)
      throws HandshakeException {
    try {
      return take(step, deadline, late);
    } catch (TimeoutException e) {
      throw new HandshakeException(peer, tooLate, e);
    }
  }

  /** That this side did not do its part in time. */
  static HandshakeException.Fault tooLate(String field, String wanted, String where) {
    return new HandshakeException.Fault(
        HandshakeException.Reason.DEADLINE_PASSED,
        field,
        wanted,
        "nothing in time",
        "this side's " + where);
  }

  /**
   * Undoes something because of a failure that is about to be thrown; in this thread, if that is
   * that there are no others.
   */
  static void undo(Throwable failure, Runnable step) {
    Supplier<Boolean> undoing =
        () -> {
          step.run();
          return true;
        };
    try {
      boolean unused = await(BoundedCall.startOrRun(undoing), Deadline.after(UNDOING), done -> {});
    } catch (RuntimeException | TimeoutException | OutOfMemoryError e) {
      failure.addSuppressed(e);
    }
  }
}
