package org.metrale.gpu.nccl;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.metrale.gpu.Backoff;

/** The ways in which a native communicator ends: finalised and destroyed, or aborted. */
final class Ending {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.nccl");
  private static final Duration GATE_PATIENCE = Duration.ofMillis(500);

  private final RankState state;

  /** Completed when the abort has come back; null while there is none. Guarded by this. */
  private CompletableFuture<Integer> abort;

  Ending(RankState state) {
    this.state = state;
  }

  /** Says what happened, with the flight record, and aborts if that is wanted. */
  void failed(NcclException problem) {
    LOG.log(
        Level.WARNING,
        () -> state + " failed: " + problem.getMessage() + "\n" + NcclFlightRecord.of(state));
    if (state.config.abortOnFailure()) {
      startAbort();
    }
  }

  /** Begins the abort on a thread of this layer, once. */
  synchronized void startAbort() {
    if (abort == null) {
      CompletableFuture<Integer> out = new CompletableFuture<>();
      abort = out;
      Helpers.run(() -> abort(out));
    }
  }

  private synchronized CompletableFuture<Integer> running() {
    startAbort();
    return abort;
  }

  private void abort(CompletableFuture<Integer> out) {
    try {
      // Whoever is inside a call should come out first; one that hangs is what the abort is for.
      boolean in = false;
      try {
        in = Backoff.await(state::tryEnter, GATE_PATIENCE);
      } catch (InterruptedException e) {
        LOG.log(Level.DEBUG, "interrupted before an abort", e);
      }
      long handle = state.handle();
      int code = NcclCalls.SUCCESS;
      if (handle != 0) {
        code = NcclCalls.ncclCommAbort(state.context.address(), handle);
      }
      if (in) {
        state.leave();
      }
      out.complete(code);
    } catch (RuntimeException e) {
      out.completeExceptionally(e);
    }
  }

  /** Tells NCCL to stop and waits until it has, within a bound. */
  void revoke(Duration timeout) {
    CompletableFuture<Integer> answer = new CompletableFuture<>();
    Helpers.run(
        () -> {
          try {
            answer.complete(NcclCalls.ncclCommRevoke(state.handle()));
          } catch (RuntimeException e) {
            answer.completeExceptionally(e);
          }
        });
    long begin = System.nanoTime();
    long limit = Backoff.nanos(timeout);
    int code = NcclCalls.IN_PROGRESS;
    while (code == NcclCalls.IN_PROGRESS && System.nanoTime() - begin < limit) {
      RankState.breathe();
      if (answer.isDone()) {
        code = unwrap(answer);
        if (code == NcclCalls.IN_PROGRESS) {
          code = (int) NcclCalls.ncclCommGetAsyncError(state.handle());
        }
      }
    }
    if (code != NcclCalls.SUCCESS) {
      int late = NcclResult.TIMEOUT.code();
      throw NcclCalls.failed(
          "ncclCommRevoke", code == NcclCalls.IN_PROGRESS ? late : code, 0, state.detail());
    }
  }

  synchronized boolean isAborted() {
    return abort != null && abort.isDone();
  }

  synchronized boolean isAborting() {
    return abort != null;
  }

  /** Waits for the abort, within its bound; an exception if it does not come back. */
  void awaitAbort() {
    CompletableFuture<Integer> running = running();
    long begin = System.nanoTime();
    long limit = Backoff.nanos(state.config.abortTimeout());
    while (!running.isDone() && System.nanoTime() - begin < limit) {
      RankState.breathe();
    }
    if (!running.isDone()) {
      throw new NcclException(
          "ncclCommAbort",
          NcclResult.TIMEOUT,
          "the abort did not come back within "
              + state.config.abortTimeout()
              + "; the native communicator is left as it is",
          "",
          state.detail());
    }
    int code = unwrap(running);
    if (code != NcclCalls.SUCCESS) {
      LOG.log(Level.WARNING, "aborting {0} answered {1}", state, new NcclResult(code).symbol());
    }
  }

  /** Finalises and destroys within the deadline, else aborts and says so. */
  void closeOrderly() {
    long begin = System.nanoTime();
    Duration limit = state.config.closeTimeout();
    try {
      state.manage(
          "ncclCommFinalize",
          () -> NcclCalls.ncclCommFinalize(state.context.address(), state.handle()),
          limit);
      state.poll();
      long left = Math.max(1, Backoff.nanos(limit) - (System.nanoTime() - begin));
      state.manage(
          "ncclCommDestroy",
          () -> NcclCalls.ncclCommDestroy(state.context.address(), state.handle()),
          Duration.ofNanos(left));
    } catch (RuntimeException e) {
      NcclException problem = problem(e);
      state.fail(problem);
      try {
        awaitAbort();
      } catch (RuntimeException second) {
        problem.addSuppressed(second);
      }
      throw problem;
    }
  }

  private NcclException problem(RuntimeException cause) {
    NcclResult result =
        cause instanceof NcclException known
            ? new NcclResult(known.code())
            : NcclResult.INTERNAL_ERROR;
    NcclException out =
        new NcclException(
            "ncclCommFinalize",
            result,
            "the orderly close failed, so the communicator was aborted: " + cause.getMessage(),
            "",
            state.detail());
    out.initCause(cause);
    return out;
  }

  static int unwrap(CompletableFuture<Integer> done) {
    try {
      return done.join();
    } catch (CompletionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw e;
    }
  }
}
