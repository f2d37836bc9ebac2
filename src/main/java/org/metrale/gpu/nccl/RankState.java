package org.metrale.gpu.nccl;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.IntSupplier;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.LongPointer;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.LibraryThrewException;
import org.metrale.gpu.cuda.CudaContext;

/**
 * One rank's native communicator: who it is, whether it is broken, and calls on it that may take
 * long. What it issues is {@link Issuing}'s, how far that has come {@link Progress}'s, how it ends
 * {@link Ending}'s.
 *
 * <p>Invariant: {@code failure} is set once.
 */
final class RankState {
  private static final AtomicLong NUMBERS = new AtomicLong();

  /** Orders communicators where several are taken at once. */
  final long number = NUMBERS.incrementAndGet();

  final CudaContext context;
  final NcclConfig config;

  /** Which rank, and how many there are; a child learns both from NCCL. */
  int rank;

  int ranks;
  final FlightRing ring;
  final OperationEvents events;
  final LongPointer cell = NcclCalls.cell();
  final Ending ending = new Ending(this);
  final Gate gate = new Gate(this);
  final Progress progress = new Progress(this);
  final Issuing issuing;
  final Oversight oversight;
  private final long[] fields;
  private final BytePointer networkName;
  private final BytePointer name;
  private long handle;
  private boolean ready;
  private volatile NcclException failure;

  /** Set when nobody may look at this any more. */
  private volatile boolean over;

  /** Calls that run on threads of this layer, also those that nobody waits for any more. */
  private final AtomicInteger calling = new AtomicInteger();

  private final AtomicBoolean freed = new AtomicBoolean();

  RankState(CudaContext context, NcclConfig config, int rank, int ranks) {
    this.context = context;
    this.config = config;
    this.rank = rank;
    this.ranks = ranks;
    this.ring = new FlightRing(config.recordedOperations());
    this.events = new OperationEvents(context);
    this.networkName = NcclCalls.text(config.networkName());
    this.name = NcclCalls.text(config.name());
    this.fields = config.fields(NcclCalls.version(), networkName.address(), name.address());
    this.issuing = new Issuing(this);
    this.oversight = new Oversight(this);
  }

  long[] fields() {
    return fields.clone();
  }

  /** NCCL's handle; while it is being made another thread may just be writing it. */
  long handle() {
    long known = handle;
    if (known == 0) {
      known = NcclCalls.read(cell);
      if (ready) {
        handle = known;
      }
    }
    return known;
  }

  /** From now on the handle does not change. */
  void joined() {
    ready = true;
  }

  String detail() {
    return "rank=" + rank + " ranks=" + ranks;
  }

  NcclException failure() {
    return failure;
  }

  /** Whether NCCL's calls may block inside. */
  boolean isBlocking() {
    return fields[ConfigField.BLOCKING.place()] != 0;
  }

  /** Whether there is something to watch; certain only while no owner is. */
  boolean hasOpenWork() {
    return failure == null && !over && (gate.isBusy() || progress.isOpen());
  }

  /** What was issued, and what is just being issued, oldest first. */
  List<NcclFlightRecord.Entry> entries() {
    return ring.read(progress.lastIssued() + 1, progress.completed(), failure != null);
  }

  void requireHealthy() {
    NcclException broken = failure;
    if (broken != null) {
      throw broken.again();
    }
  }

  /** The exception for a code; a communicator that cannot go on after it is marked as failed. */
  NcclException refuse(String call, int code, String detail) {
    NcclException out = NcclCalls.failed(call, code, handle(), detail);
    boolean harmless =
        code == NcclResult.INVALID_ARGUMENT.code() || code == NcclResult.INVALID_USAGE.code();
    if (!harmless) {
      fail(out);
    }
    return out;
  }

  /** Likewise for a call that threw: it may have done a part of it, so nothing can go on. */
  NcclException broken(String call, LibraryThrewException thrown) {
    NcclException out = NcclCalls.failed(call, thrown, detail());
    fail(out);
    return out;
  }

  /** Waits while NCCL works on what was asked for; any end but success is this communicator's. */
  void awaitProgress(String call, Duration timeout, String what) {
    int[] state = {NcclCalls.IN_PROGRESS};
    long begin = System.nanoTime();
    Waiting.quietly(
        () -> {
          if (failure == null) {
            state[0] = (int) NcclCalls.ncclCommGetAsyncError(handle());
          }
          return state[0] != NcclCalls.IN_PROGRESS || failure != null;
        },
        timeout);
    requireHealthy();
    if (state[0] == NcclCalls.IN_PROGRESS) {
      throw failLate(call, System.nanoTime() - begin, what);
    }
    if (state[0] != NcclCalls.SUCCESS) {
      NcclException problem = NcclCalls.failed(call, state[0], handle(), what);
      fail(problem);
      throw problem;
    }
  }

  /** Whether nobody may look at this any more. */
  boolean isOver() {
    return over;
  }

  void requireNotAborted() {
    if (failure != null && ending.isAborting()) {
      throw new IllegalStateException(
          this + " was aborted: " + failure.getMessage() + "; see NcclConfig.abortOnFailure");
    }
  }

  /**
   * Stops what runs. It fails before NCCL is told, since afterwards its events pass as if it were
   * done. The communicator can still have children, and be closed.
   */
  void revoke(Duration timeout) {
    gate.enter(timeout);
    try {
      requireHealthy();
      progress.poll();
      fail(
          new NcclException(
              "ncclCommRevoke",
              NcclResult.INVALID_USAGE,
              "the communicator was revoked by the program",
              "",
              detail()),
          false);
      ending.revoke(timeout);
    } finally {
      gate.leave();
    }
  }

  /** Marks the communicator as failed because something took too long. */
  NcclException failLate(String call, long nanos, String what) {
    NcclException late =
        new NcclException(
            call,
            NcclResult.TIMEOUT,
            "not done after " + Duration.ofNanos(nanos).toMillis() + " ms",
            NcclCalls.lastError(0),
            what);
    fail(late);
    return late;
  }

  /** The first failure stays; everything open fails with it, and NCCL is told to stop. */
  void fail(NcclException problem) {
    fail(problem, true);
  }

  private void fail(NcclException problem, boolean unexpected) {
    boolean[] first = {false};
    List<CompletableFuture<Void>> open =
        progress.failing(
            () -> {
              first[0] = failure == null;
              if (first[0]) {
                failure = problem;
              }
            });
    // An owner does not look whether it has failed.
    gate.disown();
    try {
      if (first[0] && unexpected) {
        ending.failed(problem);
      }
    } finally {
      open.forEach(future -> failElsewhere(future, problem));
    }
  }

  private static void failElsewhere(CompletableFuture<Void> future, NcclException problem) {
    try {
      future.defaultExecutor().execute(() -> future.completeExceptionally(problem));
    } catch (RuntimeException | Error e) {
      // No thread is to be had: whoever waits is told here.
      future.completeExceptionally(problem);
    }
  }

  /** Runs a call that may wait for peers on a thread of this layer, behind the gate. */
  void manage(String call, IntSupplier nativeCall, Duration timeout) {
    gate.enter(timeout);
    try {
      manageInside(call, nativeCall, timeout);
    } finally {
      gate.leave();
    }
  }

  /** The same for who is alone with the communicator already. */
  void manageInside(String call, IntSupplier nativeCall, Duration timeout) {
    requireHealthy();
    NcclWatchdog.wakeIfParked();
    long begin = System.nanoTime();
    int code = onThread(call, nativeCall, timeout);
    if (code == NcclCalls.IN_PROGRESS) {
      long left = Backoff.nanos(timeout) - (System.nanoTime() - begin);
      awaitProgress(call, Duration.ofNanos(Math.max(0, left)), detail());
      code = NcclCalls.SUCCESS;
    }
    if (code != NcclCalls.SUCCESS) {
      throw refuse(call, code, detail());
    }
  }

  /** Runs a native call on a thread of this layer; its answer, or an exception if it is late. */
  int onThread(String call, IntSupplier nativeCall, Duration timeout) {
    CompletableFuture<Integer> answer = start(nativeCall);
    long begin = System.nanoTime();
    Waiting.quietly(() -> answer.isDone() || failure != null, timeout);
    if (!answer.isDone()) {
      requireHealthy();
      throw failLate(call, System.nanoTime() - begin, detail());
    }
    try {
      return BoundedCall.answer(answer);
    } catch (LibraryThrewException e) {
      throw broken(call, e);
    }
  }

  /**
   * Ends the hold of what NCCL was starting work on; where it is not over, once it was aborted.
   *
   * @param over whether NCCL has started it
   */
  void letGo(StreamHold hold, boolean over) {
    if (over) {
      hold.close();
    } else {
      ending.whenAborted(hold::close);
    }
  }

  /** Begins a call on a thread of this layer, which what it may use outlives. */
  CompletableFuture<Integer> start(IntSupplier nativeCall) {
    calling.incrementAndGet();
    boolean begun = false;
    try {
      CompletableFuture<Integer> answer = BoundedCall.start(() -> counted(nativeCall));
      begun = true;
      return answer;
    } finally {
      if (!begun) {
        calling.decrementAndGet();
      }
    }
  }

  private int counted(IntSupplier nativeCall) {
    try {
      return nativeCall.getAsInt();
    } finally {
      calling.decrementAndGet();
      freeIfOver();
    }
  }

  /** Nobody looks at the native communicator any more; frees everything unless NCCL may use it. */
  void end() {
    gate.shut();
    over = true;
    freeIfOver();
  }

  /** Frees everything after {@link #end} unless NCCL or a call that comes back late may use it. */
  void freeIfOver() {
    if (over
        && !gate.isBusy()
        && calling.get() == 0
        && !ending.isDestroying()
        && (failure == null || ending.isAborted())) {
      free();
    }
  }

  /** Frees what belongs to Java once NCCL has let go of it. */
  void free() {
    over = true;
    if (!freed.compareAndSet(false, true)) {
      return;
    }
    progress.closeEvents();
    gate.free();
    networkName.close();
    name.close();
    cell.close();
  }

  @Override
  public String toString() {
    String label = config.name().isEmpty() ? "communicator" : "communicator " + config.name();
    return label + " rank " + rank + " of " + ranks;
  }
}
