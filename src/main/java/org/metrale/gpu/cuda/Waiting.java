package org.metrale.gpu.cuda;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.metrale.gpu.Backoff;

/** Waits for a stage as a thread waits for a device. */
final class Waiting {
  private Waiting() {}

  static boolean await(CompletionStage<Void> stage, Duration timeout) throws InterruptedException {
    CompletableFuture<Void> future = stage.toCompletableFuture();
    if (!Backoff.await(future::isDone, timeout)) {
      return false;
    }
    try {
      future.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof CudaException failure) {
        // The same failure, with the stack of the thread that waited.
        throw new CudaException(
            failure.call(), new CudaResult(failure.code()), failure.text(), failure.device(), "");
      }
      throw e;
    }
    return true;
  }
}
