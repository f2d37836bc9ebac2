package org.metrale.gpu.nccl;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.ToIntFunction;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.LibraryThrewException;

/**
 * Makes native communicators within a deadline: all of those given, or none. Each call runs on a
 * thread of this layer, so that one that never comes back costs the program nothing.
 */
final class Joining {
  /** What NCCL, or a call that never came back, may still write into: kept for ever. */
  private static final Queue<Object> LEFT = new ConcurrentLinkedQueue<>();

  private final String call;
  private final List<RankState> states;

  /** What a communicator is derived from; null where there is nothing. */
  private final RankState from;

  private final List<CompletableFuture<Integer>> calls = new ArrayList<>();
  private final long begin = System.nanoTime();

  private Joining(String call, List<RankState> states, RankState from) {
    this.call = call;
    this.states = states;
    this.from = from;
  }

  /**
   * Runs a call for each rank and waits until all communicators are ready.
   *
   * @throws NcclException naming the rank, the time and NCCL's words; all were aborted then
   */
  static void join(
      String call, List<RankState> states, ToIntFunction<RankState> nativeCall, Duration timeout)
      throws InterruptedException {
    new Joining(call, states, null).run(nativeCall, timeout);
  }

  /**
   * The same for one that is derived, for who has the other one's gate. If NCCL has not ended that
   * when it is given up, the other one is aborted too, since NCCL works on it.
   */
  static void derive(
      String call,
      RankState child,
      RankState from,
      ToIntFunction<RankState> nativeCall,
      Duration timeout)
      throws InterruptedException {
    new Joining(call, List.of(child), from).run(nativeCall, timeout);
  }

  /** Keeps memory that NCCL may still write into. */
  static void leave(Object memory) {
    LEFT.add(memory);
  }

  private void run(ToIntFunction<RankState> nativeCall, Duration timeout)
      throws InterruptedException {
    try {
      start(nativeCall);
      if (!Backoff.await(this::allReady, timeout)) {
        throw late();
      }
    } catch (RuntimeException | Error | InterruptedException e) {
      abortAll(e);
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
    int code;
    try {
      code = BoundedCall.answer(answer);
    } catch (LibraryThrewException e) {
      throw NcclCalls.failed(call, e, detail(state));
    }
    if (from != null && code == NcclCalls.IN_PROGRESS) {
      // Asked first: when it is done the child's handle is there, if there is a child.
      code = stateOfOther();
      if (code == NcclCalls.IN_PROGRESS) {
        return false;
      }
      if (state.handle() != 0) {
        // It may have failed before, and the child says itself how it is.
        code = NcclCalls.SUCCESS;
      }
    }
    if (code == NcclCalls.SUCCESS || code == NcclCalls.IN_PROGRESS) {
      long handle = state.handle();
      if (handle == 0) {
        // A colour that takes part in nothing; a call that joins has yet to begin.
        return code == NcclCalls.SUCCESS;
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

  /** An abort frees what would be asked; it waits for who has the gate, for a while. */
  private int stateOfOther() {
    from.requireNotAborted();
    return (int) NcclCalls.ncclCommGetAsyncError(from.handle());
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
    for (int i = 0; i < states.size(); i++) {
      if (thrown(i) == null) {
        states.get(i).ending.startAbort();
      }
    }
    for (int i = 0; i < states.size(); i++) {
      RankState state = states.get(i);
      try {
        // What is half made, nobody knows how far, can neither be used nor aborted.
        if (state.ending.isAborting()) {
          state.ending.awaitAbort();
        }
      } catch (RuntimeException e) {
        problem.addSuppressed(e);
      }
      if (i >= calls.size() || isOver(state, i)) {
        state.free();
      } else {
        leave(state);
        abortOther();
      }
    }
  }

  /** Whether neither the call nor what NCCL does after it can write anything any more. */
  private boolean isOver(RankState state, int index) {
    CompletableFuture<Integer> answer = calls.get(index);
    if (!answer.isDone() || thrown(index) != null) {
      return false;
    }
    return answer.isCompletedExceptionally()
        || answer.join() != NcclCalls.IN_PROGRESS
        || (state.handle() != 0 && state.ending.hasStopped());
  }

  /** With what NCCL broke a rank's call off; null if it did not. */
  private LibraryThrewException thrown(int index) {
    if (index < calls.size() && calls.get(index).isCompletedExceptionally()) {
      try {
        BoundedCall.answer(calls.get(index));
      } catch (LibraryThrewException e) {
        return e;
      } catch (RuntimeException | Error e) {
        // The call was not made.
      }
    }
    return null;
  }

  private void abortOther() {
    if (from != null) {
      LibraryThrewException thrown = thrown(0);
      if (thrown != null) {
        from.broken(call, thrown);
      } else {
        from.failLate(call, System.nanoTime() - begin, from.detail());
      }
      from.ending.startAbort();
    }
  }

  /** Ends what joined but cannot be kept. */
  static void giveUp(RankState state, Throwable problem) {
    try {
      state.ending.startAbort();
      state.ending.awaitAbort();
      NcclWatchdog.remove(state);
      state.free();
    } catch (RuntimeException | Error e) {
      problem.addSuppressed(e);
    }
  }
}
