package org.metrale.gpu.cuda;

import java.time.Duration;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.NativeResource;

/** Copies and fills on a stream: keeps their memory open, and tells when they are done. */
final class StreamWork {
  private final CudaStream stream;

  StreamWork(CudaStream stream) {
    this.stream = stream;
  }

  /** A copy that is queued within a limit, or empty; then it goes on by itself. */
  Optional<CompletionStage<Void>> tryCopy(CudaBuffer source, CudaBuffer target, Duration limit) {
    requireSameLength(source, target);
    boolean waits = isPageable(source) || isPageable(target);
    Hold hold = Hold.of(source, target);
    Call call =
        () ->
            CudaCalls.cuMemcpyAsync(
                stream.slot(),
                stream.generation(),
                target.address(),
                source.address(),
                source.lengthBytes());
    return waits
        ? queueWithin("cuMemcpyAsync", call, hold, limit)
        : Optional.of(queue("cuMemcpyAsync", call, hold));
  }

  private boolean isPageable(CudaBuffer buffer) {
    return buffer.location(stream.context()).kind() == CudaLocation.Kind.PAGEABLE_HOST;
  }

  private Optional<CompletionStage<Void>> queueWithin(
      String name, Call call, Hold hold, Duration limit) {
    CompletableFuture<CompletionStage<Void>> queued =
        BoundedCall.start(() -> queue(name, call, hold));
    try {
      return Optional.of(BoundedCall.await(queued, limit));
    } catch (TimeoutException e) {
      stream.context().lateWork().leave(name, queued, done -> {});
      return Optional.empty();
    }
  }

  CompletionStage<Void> copyPeer(
      CudaBuffer source, CudaContext from, CudaBuffer target, CudaContext to) {
    requireSameLength(source, target);
    Objects.requireNonNull(from, "from");
    Objects.requireNonNull(to, "to");
    return queue(
        "cuMemcpyPeerAsync",
        () -> CudaCalls.cuMemcpyPeerAsync(stream, target, to, source, from),
        Hold.of(new NativeResource[] {from, to}, source, target));
  }

  CompletionStage<Void> fill(CudaBuffer target, int value, int elementBytes) {
    if (target.lengthBytes() % elementBytes != 0 || target.address() % elementBytes != 0) {
      throw new IllegalArgumentException(
          target + " does not hold whole elements of " + elementBytes);
    }
    return queue(
        "cuMemsetD" + 8 * elementBytes + "Async",
        () ->
            CudaCalls.cuMemsetAsync(
                stream, target.address(), value, elementBytes, target.lengthBytes() / elementBytes),
        Hold.of(target));
  }

  private CompletionStage<Void> queue(String name, Call call, Hold hold) {
    CudaEvent event;
    try {
      // First of all: without an event, and a thread, nobody could tell when the memory may go.
      Completions.prepare();
      event = stream.context().takeEvent();
    } catch (RuntimeException | OutOfMemoryError e) {
      hold.close();
      throw e;
    }
    try {
      int code = call.run();
      if (code != CudaCalls.SUCCESS) {
        throw stream.failed(name, code, null);
      }
    } catch (RuntimeException e) {
      stream.context().giveBack(event);
      hold.close();
      throw e;
    }
    return completion(event, hold);
  }

  /** Where the mark fails after work was queued, the memory of that work stays open. */
  CompletionStage<Void> completion(CudaEvent event, Hold hold) {
    try {
      stream.record(event);
    } catch (RuntimeException e) {
      stream.context().giveBack(event);
      throw e;
    }
    return Completions.watch(
        event::isDone,
        () -> {
          if (hold != null) {
            hold.close();
          }
          stream.context().giveBack(event);
        });
  }

  private static void requireSameLength(CudaBuffer source, CudaBuffer target) {
    if (source.lengthBytes() != target.lengthBytes()) {
      throw new IllegalArgumentException(
          "the source has " + source.lengthBytes() + " bytes, the target " + target.lengthBytes());
    }
  }

  private interface Call {
    int run();
  }
}
