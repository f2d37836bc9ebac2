package org.metrale.gpu.cuda;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.metrale.gpu.BoundedCall;

/**
 * Calls of the driver that wait for a device, within a bound: freeing and pinning memory, ending
 * contexts, copies of memory that is not pinned. One that does not come back in time is left to a
 * thread of this layer, and counted as long as it runs.
 */
final class LateWork {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.cuda");

  private final int device;
  private final Duration limit;
  private final AtomicInteger running = new AtomicInteger();

  LateWork(int device, Duration limit) {
    this.device = device;
    this.limit = limit;
  }

  Duration limit() {
    return limit;
  }

  /** How many calls did not come back in time and still have not. */
  int running() {
    return running.get();
  }

  /**
   * Runs a call that ends something.
   *
   * @param meanwhile what is true until the call comes back, for the exception
   */
  void run(String call, String meanwhile, Runnable nativeCall) {
    Supplier<Boolean> ending =
        () -> {
          nativeCall.run();
          return true;
        };
    boolean unused = await(call, meanwhile, BoundedCall.startOrRun(ending), done -> {});
  }

  /**
   * Runs a call that makes something.
   *
   * @param late gets what is made after the bound, and has to end it again
   */
  <T> T run(String call, String meanwhile, Supplier<T> nativeCall, Consumer<T> late) {
    return await(call, meanwhile, BoundedCall.start(nativeCall), late);
  }

  private <T> T await(
      String call, String meanwhile, CompletableFuture<T> answer, Consumer<T> late) {
    try {
      return BoundedCall.await(answer, limit);
    } catch (TimeoutException e) {
      leave(call, answer, late);
      throw new CudaException(
          call,
          CudaResult.TIMEOUT,
          "not back within " + limit + "; until it comes back " + meanwhile,
          device,
          "");
    }
  }

  /** Lets a call end whenever it does. */
  @SuppressWarnings("FutureReturnValueIgnored") // says itself what goes wrong
  <T> void leave(String call, CompletableFuture<T> answer, Consumer<T> late) {
    running.incrementAndGet();
    answer.whenComplete(
        (made, problem) -> {
          try {
            if (problem == null) {
              late.accept(made);
            } else {
              report(call, problem);
            }
          } catch (RuntimeException | Error e) {
            report(call, e);
          } finally {
            // Only now: what it made is ended again.
            running.decrementAndGet();
          }
        });
  }

  private static void report(String call, Throwable problem) {
    LOG.log(Level.WARNING, call + " came back late and failed", problem);
  }
}
