package org.metrale.gpu.nccl;

import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.LibraryThrewException;

/** The ways in which a native communicator ends: finalised and destroyed, or aborted. */
final class Ending {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.nccl");
  private static final Duration GATE_PATIENCE = Duration.ofMillis(500);

  private final RankState state;

  /** Completed when the abort has come back; null while there is none. Guarded by this. */
  private CompletableFuture<Integer> abort;

  /** What is to be done after the abort, as long as there is none. Guarded by this. */
  private final List<Runnable> afterAbort = new ArrayList<>();

  /** Completed when the destruction of an orderly close has come back; null before. */
  private volatile CompletableFuture<Integer> destruction;

  /** Whether nothing runs any more, by an orderly end or by a revocation. */
  private volatile boolean stopped;

  Ending(RankState state) {
    this.state = state;
  }

  /** Aborts if that is wanted, and says what happened, with the flight record. */
  void failed(NcclException problem) {
    if (state.config.abortOnFailure()) {
      startAbort();
    }
    try {
      LOG.log(
          Level.WARNING,
          () -> state + " failed: " + problem.getMessage() + "\n" + NcclFlightRecord.of(state));
    } catch (RuntimeException | Error e) {
      // A program's log handler must not decide whether its communicators are looked after.
      problem.addSuppressed(e);
    }
  }

  /** Begins the abort on a thread of this layer, once. */
  synchronized void startAbort() {
    if (abort == null) {
      abort = BoundedCall.startOrRun(this::abort);
      afterAbort.forEach(this::runAfterAbort);
      afterAbort.clear();
    }
  }

  /** Does something when NCCL has let go of everything by an abort; never if that never is so. */
  synchronized void whenAborted(Runnable then) {
    if (abort == null) {
      afterAbort.add(then);
    } else {
      runAfterAbort(then);
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // what goes wrong is said by the abort itself
  private void runAfterAbort(Runnable then) {
    abort.thenAccept(
        code -> {
          if (code == NcclCalls.SUCCESS) {
            then.run();
          }
        });
  }

  private synchronized CompletableFuture<Integer> running() {
    startAbort();
    return abort;
  }

  private int abort() {
    // Whoever is inside a call should come out first; one that hangs is what the abort is for.
    boolean[] in = {false};
    Waiting.quietly(() -> state.gate.isShut() || (in[0] = state.gate.tryEnter()), GATE_PATIENCE);
    try {
      long handle = state.handle();
      return handle == 0
          ? NcclCalls.SUCCESS
          : NcclCalls.ncclCommAbort(state.context.address(), handle);
    } finally {
      if (in[0]) {
        state.gate.leave();
      }
    }
  }

  /** Whether NCCL has let go of all memory that operations used. */
  boolean hasStopped() {
    if (stopped || succeeded(destruction)) {
      return true;
    }
    synchronized (this) {
      return succeeded(abort);
    }
  }

  private static boolean succeeded(CompletableFuture<Integer> running) {
    return running != null
        && running.isDone()
        && !running.isCompletedExceptionally()
        && running.join() == NcclCalls.SUCCESS;
  }

  /** Tells NCCL to stop and waits until it has, within a bound. */
  void revoke(Duration timeout) {
    CompletableFuture<Integer> answer = state.start(() -> NcclCalls.ncclCommRevoke(state.handle()));
    int[] code = {NcclCalls.IN_PROGRESS};
    Waiting.quietly(
        () -> {
          // An abort frees what would be asked.
          if (answer.isDone() && !isAborting()) {
            code[0] = BoundedCall.answer(answer);
            if (code[0] == NcclCalls.IN_PROGRESS) {
              code[0] = (int) NcclCalls.ncclCommGetAsyncError(state.handle());
            }
          }
          return code[0] != NcclCalls.IN_PROGRESS || isAborting();
        },
        timeout);
    if (code[0] != NcclCalls.SUCCESS) {
      int late = NcclResult.TIMEOUT.code();
      throw NcclCalls.failed(
          "ncclCommRevoke",
          code[0] == NcclCalls.IN_PROGRESS ? late : code[0],
          0,
          state.detail() + (isAborting() ? " aborted meanwhile" : ""));
    }
    stopped = true;
  }

  synchronized boolean isAborted() {
    return abort != null && abort.isDone();
  }

  synchronized boolean isAborting() {
    return abort != null;
  }

  /** Waits for the abort, within its bound; an exception if it does not come back. */
  void awaitAbort() {
    int code;
    try {
      code = BoundedCall.await(running(), state.config.abortTimeout());
    } catch (LibraryThrewException e) {
      LOG.log(Level.WARNING, "aborting " + state, e);
      return;
    } catch (TimeoutException e) {
      throw late("ncclCommAbort", "abort", state.config.abortTimeout());
    }
    if (code != NcclCalls.SUCCESS) {
      LOG.log(Level.WARNING, "aborting {0} answered {1}", state, new NcclResult(code).symbol());
    }
  }

  private NcclException late(String call, String what, Duration limit) {
    return new NcclException(
        call,
        NcclResult.TIMEOUT,
        "the "
            + what
            + " did not come back within "
            + limit
            + "; the native communicator is left as it is",
        "",
        state.detail());
  }

  /**
   * Finalises and destroys within the deadline, else aborts and says so. Nobody gets in any more
   * from the beginning on: a call that came between could use a communicator that is destroyed.
   */
  void closeOrderly() {
    long begin = System.nanoTime();
    Duration limit = state.config.closeTimeout();
    boolean entered = false;
    try {
      state.gate.enter(limit);
      entered = true;
      state.gate.shut();
      state.manageInside(
          "ncclCommFinalize",
          () -> NcclCalls.ncclCommFinalize(state.context.address(), state.handle()),
          limit);
      state.progress.poll();
    } catch (RuntimeException e) {
      throw abortInstead(e);
    } catch (OutOfMemoryError e) {
      throw abortInstead(new IllegalStateException("ncclCommFinalize cannot be waited for", e));
    } finally {
      if (entered) {
        state.gate.leave();
      }
    }
    long left = Math.max(1, Backoff.nanos(limit) - (System.nanoTime() - begin));
    destroy(Duration.ofNanos(left), limit);
  }

  /**
   * Destroys what is finalised. Once that has begun there is no abort any more: NCCL may have freed
   * the communicator already.
   */
  private void destroy(Duration left, Duration limit) {
    CompletableFuture<Integer> answer =
        BoundedCall.startOrRun(
            () -> NcclCalls.ncclCommDestroy(state.context.address(), state.handle()));
    destruction = answer;
    int code;
    try {
      code = BoundedCall.await(answer, left);
    } catch (LibraryThrewException e) {
      throw NcclCalls.failed("ncclCommDestroy", e, state.detail());
    } catch (TimeoutException e) {
      throw late("ncclCommDestroy", "destruction", limit);
    }
    if (code != NcclCalls.SUCCESS && code != NcclCalls.IN_PROGRESS) {
      throw NcclCalls.failed("ncclCommDestroy", code, 0, state.detail());
    }
    stopped = true;
  }

  /** Whether NCCL may still write into what belongs to Java. */
  boolean isDestroying() {
    CompletableFuture<Integer> running = destruction;
    return running != null && !running.isDone();
  }

  private NcclException abortInstead(RuntimeException cause) {
    NcclException problem = problem(cause);
    state.fail(problem);
    try {
      awaitAbort();
    } catch (RuntimeException second) {
      problem.addSuppressed(second);
    }
    return problem;
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
}
