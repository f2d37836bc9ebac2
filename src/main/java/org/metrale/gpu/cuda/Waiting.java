package org.metrale.gpu.cuda;

import java.time.Duration;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.Backoff;

/**
 * Waits for a stage, by the JDK's own means: a worker of the pool that also completes stages is
 * replaced while it waits here, so that blocking copies in all workers do not wait for each other.
 */
final class Waiting {
  private Waiting() {}

  static boolean await(CompletionStage<Void> stage, Duration timeout) throws InterruptedException {
    try {
      stage.toCompletableFuture().get(Backoff.nanos(timeout), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      return false;
    } catch (ExecutionException e) {
      if (e.getCause() instanceof CudaException failure) {
        // The same failure, with the stack of the thread that waited.
        throw new CudaException(
            failure.call(), new CudaResult(failure.code()), failure.text(), failure.device(), "");
      }
      throw new CompletionException(e.getCause());
    }
    return true;
  }
}
