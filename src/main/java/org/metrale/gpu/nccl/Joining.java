package org.metrale.gpu.nccl;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.ToIntFunction;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.BoundedCall;

/**
 * Makes native communicators within a deadline: all of those given, or none. Each call runs on a
 * thread of this layer, so that one that never comes back costs the program nothing.
 */
final class Joining {
  private final String call;
  private final List<RankState> states;
  private final List<CompletableFuture<Integer>> calls = new ArrayList<>();
  private final long begin = System.nanoTime();

  private Joining(String call, List<RankState> states) {
    this.call = call;
    this.states = states;
  }

  /**
   * Runs a call for each rank and waits until all communicators are ready.
   *
   * @throws NcclException naming the rank, the time and NCCL's words; all were aborted then
   */
  static void join(
      String call, List<RankState> states, ToIntFunction<RankState> nativeCall, Duration timeout)
      throws InterruptedException {
    Joining joining = new Joining(call, states);
    try {
      joining.start(nativeCall);
      if (!Backoff.await(joining::allReady, timeout)) {
        throw joining.late();
      }
    } catch (RuntimeException | Error | InterruptedException e) {
      joining.abortAll(e);
      throw e;
    }
  }

  private void start(ToIntFunction<RankState> nativeCall) {
    for (RankState state : states) {
      calls.add(BoundedCall.start(() -> nativeCall.applyAsInt(state)));
    }
  }

  private boolean allReady() {
    boolean ready = true;
    for (int i = 0; i < states.size(); i++) {
      ready &= isReady(states.get(i), calls.get(i));
    }
    return ready;
  }

  private boolean isReady(RankState state, CompletableFuture<Integer> answer) {
    if (!answer.isDone()) {
      return false;
    }
    int code = BoundedCall.answer(answer);
    if (code == NcclCalls.SUCCESS || code == NcclCalls.IN_PROGRESS) {
      long handle = state.handle();
      if (handle == 0) {
        // A colour that takes part in nothing.
        return true;
      }
      long asked = NcclCalls.ncclCommGetAsyncError(handle);
      code = asked >> 32 != 0 ? (int) (asked >> 32) : (int) asked;
      if (code == NcclCalls.IN_PROGRESS) {
        return false;
      }
    }
    if (code != NcclCalls.SUCCESS) {
      throw NcclCalls.failed(call, code, state.handle(), detail(state));
    }
    return true;
  }

  private NcclException late() {
    for (int i = 0; i < states.size(); i++) {
      RankState state = states.get(i);
      if (!isReady(state, calls.get(i))) {
        return new NcclException(
            call,
            NcclResult.TIMEOUT,
            "not all ranks joined in time",
            NcclCalls.lastError(calls.get(i).isDone() ? state.handle() : 0),
            detail(state));
      }
    }
    return new NcclException(
        call, NcclResult.TIMEOUT, "ready only after the deadline", "", detail(states.get(0)));
  }

  private String detail(RankState state) {
    long elapsed = Duration.ofNanos(System.nanoTime() - begin).toMillis();
    return state.detail() + " elapsed=" + elapsed + "ms";
  }

  /**
   * One rank's failure is all local ranks' failure: nobody waits for those that will never come.
   */
  private void abortAll(Throwable problem) {
    for (RankState state : states) {
      state.ending.startAbort();
    }
    for (RankState state : states) {
      try {
        state.ending.awaitAbort();
        if (calls.size() == states.size() && calls.get(states.indexOf(state)).isDone()) {
          state.free();
        }
      } catch (RuntimeException e) {
        // Its memory is left: a call that never came back may still write there.
        problem.addSuppressed(e);
      }
    }
  }
}
