package org.metrale.gpu;

import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * Runs native calls that may take long, or never come back, on threads of this layer. Such a call
 * costs one of these threads, not one of the program's.
 *
 * <p>For the packages of this module, not for programs.
 *
 * <p><b>Threading:</b> safe for any number of threads. Threads are made as needed and end when they
 * are idle; all are daemons.
 */
public final class BoundedCall {
  private BoundedCall() {}

  /**
   * Begins a call.
   *
   * @param <T> what the call answers
   * @param call the native call
   * @return completes with its answer, or with what it threw
   * @throws OutOfMemoryError if there is no thread to be had; the call is not made
   */
  public static <T> CompletableFuture<T> start(Supplier<T> call) {
    Objects.requireNonNull(call, "call");
    CompletableFuture<T> answer = new CompletableFuture<>();
    CallThreads.execute(() -> complete(answer, call));
    return answer;
  }

  /**
   * Begins a call that ends something. Where no thread is to be had for it this one makes it,
   * however long that takes: what is not ended now would stay for ever.
   *
   * @param <T> what the call answers
   * @param call the native call
   * @return completes with its answer, or with what it threw
   */
  public static <T> CompletableFuture<T> startOrRun(Supplier<T> call) {
    Objects.requireNonNull(call, "call");
    CompletableFuture<T> answer = new CompletableFuture<>();
    CallThreads.executeOrRun(() -> complete(answer, call));
    return answer;
  }

  private static <T> void complete(CompletableFuture<T> answer, Supplier<T> call) {
    try {
      answer.complete(call.get());
    } catch (RuntimeException | Error e) {
      answer.completeExceptionally(e);
    }
  }

  /**
   * Begins a call that nobody waits for; in this thread where no other is to be had.
   *
   * @param call the native call; throws nothing
   */
  public static void run(Runnable call) {
    CallThreads.executeOrRun(Objects.requireNonNull(call, "call"));
  }

  /**
   * Waits for the answer of a call. An interrupt does not end the wait, which is bounded; the
   * thread is interrupted afterwards.
   *
   * @param <T> what the call answers
   * @param answer what {@link #start} returned
   * @param limit how long to wait at most
   * @return the answer
   * @throws TimeoutException if the time ended first; the call goes on
   */
  public static <T> T await(CompletableFuture<T> answer, Duration limit) throws TimeoutException {
    long begin = System.nanoTime();
    long limitNanos = Backoff.nanos(limit);
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return answer.get(limitNanos - (System.nanoTime() - begin), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } catch (ExecutionException e) {
      throw thrown(e.getCause());
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  /**
   * The answer of a call that is over.
   *
   * @param <T> what the call answers
   * @param answer what {@link #start} returned
   * @return the answer
   */
  public static <T> T answer(CompletableFuture<T> answer) {
    try {
      return answer.join();
    } catch (CompletionException e) {
      throw thrown(e.getCause());
    }
  }

  /** What the call itself threw, in the thread that asks. */
  private static RuntimeException thrown(Throwable cause) {
    if (cause instanceof Error error) {
      throw error;
    }
    return cause instanceof RuntimeException problem ? problem : new CompletionException(cause);
  }
}
