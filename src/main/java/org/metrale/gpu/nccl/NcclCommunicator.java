package org.metrale.gpu.nccl;

import com.google.errorprone.annotations.MustBeClosed;
import java.io.ByteArrayOutputStream;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.LongPointer;
import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;

/**
 * One rank's side of a group of devices that work together.
 *
 * <p>Operations return when they are queued, with a number; {@link #operation} makes an object of
 * it for waiting. A watchdog notices operations that are overdue and errors that NCCL reports; then
 * all open operations fail with one {@link NcclException}, the communicator is aborted, and every
 * thread gets control back. Nothing here waits for a peer without a deadline.
 *
 * <p><b>Ownership:</b> keeps its context open, and while it is open what it was split from. Closing
 * first closes registrations, windows, memory and operators made here; it is refused while a child
 * is open; then it finalises within {@link NcclConfig#closeTimeout()}, or aborts and throws saying
 * so.
 *
 * <p><b>Threading:</b> safe for any number of threads, one call at a time; all ranks must issue the
 * same collectives in the same order.
 */
public final class NcclCommunicator extends NativeResource implements NcclCollectives {
  private final RankState state;
  private final List<NativeResource> owned = new ArrayList<>();
  private final List<NcclRedOp> operators = new ArrayList<>();

  /** Communicators made from this one that are open. */
  private int children;

  private final NcclCommunicator parent;
  private final Collectives collectives;

  private NcclCommunicator(RankState state, NcclCommunicator parent) {
    super(needs(state.context, parent));
    this.state = state;
    this.parent = parent;
    this.collectives = new Collectives(this, state.issuing, null);
    state.joined();
    if (parent != null) {
      parent.countChild(1);
    }
  }

  /** Takes over what has joined; if that is not possible, nothing is kept open for it. */
  static NcclCommunicator of(RankState state, NcclCommunicator parent) {
    // First, since nothing lets go of what the constructor keeps open but a close.
    NcclWatchdog.add(state);
    try {
      return new NcclCommunicator(state, parent);
    } catch (RuntimeException | Error e) {
      NcclWatchdog.remove(state);
      throw e;
    }
  }

  private static NativeResource[] needs(CudaContext context, NcclCommunicator parent) {
    return parent == null ? new NativeResource[] {context} : new NativeResource[] {context, parent};
  }

  /**
   * Joins a communicator as one rank.
   *
   * <p><b>Blocking:</b> until all ranks have joined, at most {@link NcclConfig#initTimeout()}.
   *
   * @param context of the device that this rank uses
   * @param id the same on all ranks
   * @param ranks how many ranks there are
   * @param rank which one this is, from 0
   * @param config settings and deadlines
   * @return the communicator; close it
   * @throws NcclException if NCCL refuses or not all ranks join in time; it was aborted then
   * @throws LibraryUnavailableException if NCCL is not here
   * @throws IllegalArgumentException if the rank is not one of the ranks, or a setting is too new
   * @throws IllegalStateException if a context is closed
   * @throws InterruptedException if the thread was interrupted while it waited; it was aborted then
   * @wraps {@code ncclCommInitRankConfig}; nccl.h, NCCL 2.14 and later
   */
  @MustBeClosed
  public static NcclCommunicator join(
      CudaContext context, NcclUniqueId id, int ranks, int rank, NcclConfig config)
      throws InterruptedException {
    return joinAll(List.of(context), List.of(id), ranks, rank, config).get(0);
  }

  /**
   * Joins a communicator with several local ranks at once. If one fails, all are aborted.
   *
   * <p><b>Blocking:</b> until all ranks have joined, at most {@link NcclConfig#initTimeout()}.
   *
   * @param contexts of the local ranks' devices, in the order of their ranks
   * @param ids one, or several that share the work of joining (NCCL 2.23 and later); the same
   *     everywhere
   * @param ranks how many ranks there are in all
   * @param firstRank the rank of the first context; the others follow
   * @param config settings and deadlines
   * @return the communicators, one a context; close them
   * @throws NcclException if NCCL refuses or not all ranks join in time; all were aborted then
   * @throws LibraryUnavailableException if NCCL, or a function that is needed, is not here
   * @throws IllegalArgumentException if the ranks are wrong, or a setting is too new
   * @throws IllegalStateException if a context is closed
   * @throws InterruptedException if the thread was interrupted while it waited
   * @wraps {@code ncclCommInitRankScalable}; nccl.h, NCCL 2.23.4 and later
   */
  public static List<NcclCommunicator> joinAll(
      List<CudaContext> contexts,
      List<NcclUniqueId> ids,
      int ranks,
      int firstRank,
      NcclConfig config)
      throws InterruptedException {
    if (ranks < 1 || firstRank < 0 || contexts.isEmpty() || firstRank > ranks - contexts.size()) {
      throw new IllegalArgumentException(
          "ranks "
              + firstRank
              + " to "
              + (firstRank + (long) contexts.size() - 1)
              + " are not within the "
              + ranks
              + " ranks");
    }
    if (ids.isEmpty() || ids.size() > ranks) {
      throw new IllegalArgumentException(ids.size() + " ids for " + ranks + " ranks");
    }
    contexts.forEach(NcclCommunicator::requireOpen);
    NcclCalls.useDriver();
    List<RankState> states = new ArrayList<>();
    for (int i = 0; i < contexts.size(); i++) {
      states.add(new RankState(contexts.get(i), config, firstRank + i, ranks));
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    ids.forEach(id -> bytes.writeBytes(id.toBytes()));
    String call = ids.size() == 1 ? "ncclCommInitRankConfig" : "ncclCommInitRankScalable";
    Joining.join(
        call,
        states,
        one ->
            NcclCalls.ncclCommInitRank(
                one.context.address(),
                one.ranks,
                one.rank,
                bytes.toByteArray(),
                one.fields(),
                one.cell),
        config.initTimeout());
    return opened(states);
  }

  private static void requireOpen(CudaContext context) {
    if (context.isClosed()) {
      throw new IllegalStateException(context + " is closed");
    }
  }

  /** All of them, or none: what cannot be kept is aborted. */
  private static List<NcclCommunicator> opened(List<RankState> states) {
    List<NcclCommunicator> out = new ArrayList<>();
    try {
      for (RankState state : states) {
        out.add(NcclCommunicator.of(state, null));
      }
      return List.copyOf(out);
    } catch (RuntimeException | Error e) {
      for (NcclCommunicator made : out) {
        try {
          made.abort();
          made.close();
        } catch (RuntimeException second) {
          e.addSuppressed(second);
        }
      }
      states.subList(out.size(), states.size()).forEach(state -> Joining.giveUp(state, e));
      throw e;
    }
  }

  /**
   * Makes a communicator of devices of this process alone, one rank each.
   *
   * @param contexts the devices' contexts, in the order of the ranks
   * @param config settings and deadlines
   * @return the communicators; close them
   * @throws NcclException if NCCL refuses
   * @throws LibraryUnavailableException if NCCL is not here
   * @throws InterruptedException if the thread was interrupted while it waited
   * @wraps {@code ncclCommInitAll}; nccl.h, NCCL 2.0 and later
   */
  public static List<NcclCommunicator> joinLocal(List<CudaContext> contexts, NcclConfig config)
      throws InterruptedException {
    return joinAll(contexts, List.of(NcclUniqueId.create()), contexts.size(), 0, config);
  }

  /**
   * Joins, as a new rank, a communicator that its members {@link #grow}.
   *
   * @param context of the device that this rank uses
   * @param id from {@link #idForGrowing()} of the root
   * @param ranks how many ranks there will be
   * @param rank which one this is, after the old ones
   * @param config settings and deadlines
   * @return the communicator; close it
   * @throws NcclException if NCCL refuses or not all ranks join in time
   * @throws LibraryUnavailableException if the library has no such function
   * @throws InterruptedException if the thread was interrupted while it waited
   * @wraps {@code ncclCommGrow}; nccl.h, NCCL 2.29.2 and later
   */
  @MustBeClosed
  public static NcclCommunicator joinGrowing(
      CudaContext context, NcclUniqueId id, int ranks, int rank, NcclConfig config)
      throws InterruptedException {
    requireOpen(context);
    NcclCalls.useDriver();
    RankState state = new RankState(context, config, rank, ranks);
    Joining.join(
        "ncclCommGrow",
        List.of(state),
        one ->
            NcclCalls.ncclCommGrow(
                context.address(), 0, ranks, id.toBytes(), rank, one.fields(), one.cell),
        config.initTimeout());
    return opened(List.of(state)).get(0);
  }

  /**
   * This rank.
   *
   * @return from 0 to {@link #ranks()} - 1
   */
  public int rank() {
    return state.rank;
  }

  /**
   * How many ranks there are.
   *
   * @return at least 1
   */
  public int ranks() {
    return state.ranks;
  }

  /**
   * The context that this rank works in.
   *
   * @return the context
   */
  public CudaContext context() {
    return state.context;
  }

  /**
   * Whether the loaded library has a function.
   *
   * @param function the C name, for example {@code ncclCommShrink}
   * @return false if it does not
   */
  public boolean supports(String function) {
    return NcclLibrary.supports(function);
  }

  /**
   * What broke this communicator.
   *
   * @return the failure; empty while it is healthy
   */
  public Optional<NcclException> failure() {
    return Optional.ofNullable(state.failure());
  }

  /**
   * What this rank did last.
   *
   * @return a copy of the flight recorder
   */
  public NcclFlightRecord flightRecord() {
    return NcclFlightRecord.of(state);
  }

  /**
   * An operation by its number.
   *
   * @param sequence what an operation's call returned
   * @return an object for waiting
   * @throws IllegalArgumentException if there was no such operation
   */
  public NcclOperation operation(long sequence) {
    if (sequence < 0 || sequence > state.progress.lastIssued()) {
      throw new IllegalArgumentException(this + " never issued operation " + sequence);
    }
    return new NcclOperation(state, sequence);
  }

  @Override
  public long allReduce(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclRedOp op,
      CudaStream stream) {
    return collectives.allReduce(send, recv, countElements, type, op, stream);
  }

  @Override
  public long broadcast(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      CudaStream stream) {
    return collectives.broadcast(send, recv, countElements, type, root, stream);
  }

  @Override
  public long reduce(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclRedOp op,
      int root,
      CudaStream stream) {
    return collectives.reduce(send, recv, countElements, type, op, root, stream);
  }

  @Override
  public long allGather(
      CudaBuffer send, CudaBuffer recv, long countElements, NcclDataType type, CudaStream stream) {
    return collectives.allGather(send, recv, countElements, type, stream);
  }

  @Override
  public long reduceScatter(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclRedOp op,
      CudaStream stream) {
    return collectives.reduceScatter(send, recv, countElements, type, op, stream);
  }

  @Override
  public long allToAll(
      CudaBuffer send, CudaBuffer recv, long countElements, NcclDataType type, CudaStream stream) {
    return collectives.allToAll(send, recv, countElements, type, stream);
  }

  @Override
  public long gather(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      CudaStream stream) {
    return collectives.gather(send, recv, countElements, type, root, stream);
  }

  @Override
  public long scatter(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      CudaStream stream) {
    return collectives.scatter(send, recv, countElements, type, root, stream);
  }

  /**
   * Collectives with settings of their own, which hold for each call instead of the communicator's;
   * {@code supports("ncclAllReduceConfig")} says whether the library has that.
   *
   * @param config the settings, the same on all ranks
   * @return this communicator's collectives; owns nothing
   * @throws LibraryUnavailableException if the library has no such functions
   * @throws IllegalStateException if this communicator is closed
   * @wraps {@code ncclAllReduceConfig} and the like; nccl.h, NCCL 2.32.3 and later
   */
  public NcclCollectives configured(NcclCallConfig config) {
    requireOpen();
    Objects.requireNonNull(config, "config");
    String call = NcclOperationKind.ALL_REDUCE.configuredCall();
    if (!supports(call)) {
      throw LibraryUnavailableException.missing("nccl", call);
    }
    return new Collectives(this, state.issuing, config);
  }

  /**
   * Sends to one rank, which must receive. Two ranks that send to each other put both in a {@link
   * NcclGroup}.
   *
   * @param buffer what, {@code [countElements]}
   * @param countElements elements, not bytes; the same as the receiver's
   * @param type of what type
   * @param peer to whom
   * @param stream after what else
   * @return the operation's number
   * @throws NcclException if NCCL refuses the call, or the communicator is broken
   * @throws IllegalArgumentException if the peer is no rank, or the buffer is too short or out of
   *     reach
   * @throws IllegalStateException if this communicator, the buffer or the stream is closed
   * @wraps {@code ncclSend}; nccl.h, NCCL 2.7 and later
   */
  public long send(
      CudaBuffer buffer, long countElements, NcclDataType type, int peer, CudaStream stream) {
    requireRank(peer, "peer");
    Shapes.fits(buffer, countElements, type, "send");
    return state.issuing.submit(
        NcclOperationKind.SEND, buffer, null, countElements, type, 0, peer, stream);
  }

  /**
   * Receives from one rank, which must send.
   *
   * @param buffer where to, {@code [countElements]}
   * @param countElements elements, not bytes; the same as the sender's
   * @param type of what type
   * @param peer from whom
   * @param stream after what else
   * @return the operation's number
   * @throws NcclException if NCCL refuses the call, or the communicator is broken
   * @throws IllegalArgumentException if the peer is no rank, or the buffer is too short or out of
   *     reach
   * @throws IllegalStateException if this communicator, the buffer or the stream is closed
   * @wraps {@code ncclRecv}; nccl.h, NCCL 2.7 and later
   */
  public long receive(
      CudaBuffer buffer, long countElements, NcclDataType type, int peer, CudaStream stream) {
    requireRank(peer, "peer");
    Shapes.fits(buffer, countElements, type, "receive");
    return state.issuing.submit(
        NcclOperationKind.RECEIVE, null, buffer, countElements, type, 0, peer, stream);
  }

  /**
   * Writes into another rank's window and signals it.
   *
   * @param buffer what, {@code [countElements]}
   * @param countElements elements, not bytes
   * @param type of what type
   * @param peer whose window
   * @param window the window; all ranks registered it together
   * @param offsetBytes where in the peer's window
   * @param stream after what else
   * @return the operation's number
   * @throws NcclException if NCCL refuses the call, or the communicator is broken
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalArgumentException if the peer is no rank, the buffer too short, or the range
   *     outside of a window as large as this rank's
   * @throws IllegalStateException if this communicator, the window, buffer or stream is closed
   * @wraps {@code ncclPutSignal}; nccl.h, NCCL 2.29.2 and later
   */
  public long putSignal(
      CudaBuffer buffer,
      long countElements,
      NcclDataType type,
      int peer,
      NcclWindow window,
      long offsetBytes,
      CudaStream stream) {
    return alone(
        group ->
            group.putSignal(this, buffer, countElements, type, peer, window, offsetBytes, stream));
  }

  /**
   * Signals another rank.
   *
   * @param peer whom
   * @param stream after what else
   * @return the operation's number
   * @throws NcclException if NCCL refuses the call, or the communicator is broken
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalArgumentException if the peer is no rank
   * @throws IllegalStateException if this communicator or the stream is closed
   * @wraps {@code ncclSignal}; nccl.h, NCCL 2.29.2 and later
   */
  public long signal(int peer, CudaStream stream) {
    return alone(group -> group.signal(this, peer, stream));
  }

  /**
   * Lets the stream wait for signals of another rank.
   *
   * @param peer whose
   * @param count how many signals
   * @param stream what waits
   * @return the operation's number
   * @throws NcclException if NCCL refuses the call, or the communicator is broken
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalArgumentException if the peer is no rank or the count not positive
   * @throws IllegalStateException if this communicator or the stream is closed
   * @wraps {@code ncclWaitSignal}; nccl.h, NCCL 2.29.2 and later
   */
  public long waitSignal(int peer, int count, CudaStream stream) {
    return alone(group -> group.waitSignal(this, peer, count, stream));
  }

  /**
   * Makes an operator that multiplies each rank's elements by a number before summing.
   *
   * @param type the type of the elements that it will be used for
   * @param scalar the number, rounded to that type
   * @return the operator; it belongs to this communicator
   * @throws NcclException if NCCL refuses
   * @throws IllegalStateException if this communicator is closed
   * @wraps {@code ncclRedOpCreatePreMulSum}; nccl.h, NCCL 2.11 and later
   */
  public NcclRedOp preMultipliedSum(NcclDataType type, double scalar) {
    BytePointer element = Scalars.encode(type, scalar);
    NcclRedOp out = preMultipliedSum(type, element, element.address(), false);
    // Only now: a call that is late may still read the number, which then stays reachable with it.
    element.close();
    return out;
  }

  /**
   * Makes an operator that multiplies each rank's elements by a number in device memory, read when
   * the operation runs.
   *
   * @param type the type of the elements and of the number
   * @param scalar where the number is, one element
   * @return the operator; it belongs to this communicator
   * @throws NcclException if NCCL refuses
   * @throws IllegalArgumentException if the buffer is too short
   * @throws IllegalStateException if this communicator is closed
   * @wraps {@code ncclRedOpCreatePreMulSum}; nccl.h, NCCL 2.11 and later
   */
  public NcclRedOp preMultipliedSum(NcclDataType type, CudaBuffer scalar) {
    Shapes.fits(scalar, 1, type, "scalar");
    return preMultipliedSum(type, scalar, scalar.address(), true);
  }

  private NcclRedOp preMultipliedSum(
      NcclDataType type, Object keeper, long address, boolean onDevice) {
    int[] made = new int[1];
    manage(
        "ncclRedOpCreatePreMulSum",
        one -> {
          try {
            return NcclCalls.ncclRedOpCreatePreMulSum(one.handle(), address, type, onDevice, made);
          } finally {
            Reference.reachabilityFence(keeper);
          }
        });
    NcclRedOp out = NcclRedOp.made(made[0], this);
    synchronized (owned) {
      operators.add(out);
    }
    return out;
  }

  /**
   * Lets NCCL know a buffer beforehand.
   *
   * @param buffer device memory; borrowed, must stay until the result is closed
   * @return the registration; it belongs to this communicator
   * @throws NcclException if NCCL refuses
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalStateException if this communicator is closed
   * @wraps {@code ncclCommRegister}; nccl.h, NCCL 2.19 and later
   */
  public NcclRegistration register(CudaBuffer buffer) {
    Place.require(state, buffer);
    Registered registered = new Registered(this, buffer);
    return registered(
        new NcclRegistration(registered),
        registered,
        "ncclCommRegister",
        (one, cell) ->
            NcclCalls.ncclCommRegister(
                one.context.address(), one.handle(), buffer.address(), buffer.lengthBytes(), cell));
  }

  /**
   * Registers memory that all ranks can reach; every rank must call it.
   *
   * <p><b>Blocking:</b> until all ranks have called it, at most the operation deadline.
   *
   * @param buffer device memory of the same length on every rank, best from {@link #allocate};
   *     borrowed, must stay until the result is closed
   * @param symmetric whether it lies at the same offset on all ranks
   * @return the window; it belongs to this communicator
   * @throws NcclException if NCCL refuses, or not all ranks call in time
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalStateException if this communicator is closed
   * @wraps {@code ncclCommWindowRegister}; nccl.h, NCCL 2.27.3 and later
   */
  public NcclWindow registerWindow(CudaBuffer buffer, boolean symmetric) {
    Place.require(state, buffer);
    int flags = symmetric ? NcclCalls.WINDOW_SYMMETRIC : NcclCalls.WINDOW_DEFAULT;
    Registered registered = new Registered(this, buffer);
    return registered(
        new NcclWindow(registered),
        registered,
        "ncclCommWindowRegister",
        (one, cell) ->
            NcclCalls.ncclCommWindowRegister(
                one.context.address(),
                one.handle(),
                buffer.address(),
                buffer.lengthBytes(),
                flags,
                cell));
  }

  /**
   * Allocates device memory from NCCL's allocator.
   *
   * @param lengthBytes how many bytes, at least 1
   * @return the memory; it belongs to this communicator
   * @throws NcclException if there is not that much left
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalArgumentException if the length is not positive
   * @throws IllegalStateException if this communicator is closed
   * @wraps {@code ncclMemAlloc}; nccl.h, NCCL 2.19 and later
   */
  public NcclMemory allocate(long lengthBytes) {
    if (lengthBytes <= 0) {
      throw new IllegalArgumentException("lengthBytes " + lengthBytes + " is not positive");
    }
    long address =
        made(
            "ncclMemAlloc",
            (one, cell) -> NcclCalls.ncclMemAlloc(one.context.address(), lengthBytes, cell));
    try {
      NcclMemory out = new NcclMemory(this, address, lengthBytes);
      own(out);
      return out;
    } catch (IllegalStateException e) {
      // Closed meanwhile: nobody else knows of it.
      NcclCalls.ncclMemFree(state.context.address(), address);
      throw e;
    }
  }

  /**
   * Divides the communicator; every rank must call it.
   *
   * <p><b>Blocking:</b> until all ranks have called it, at most {@link NcclConfig#initTimeout()}.
   * If that ends first, or an interrupt does, while NCCL works on this communicator, it is aborted.
   *
   * @param color ranks of the same colour come together; negative: this rank takes part in none
   * @param key the order of the ranks within a colour
   * @param config settings and deadlines of the child
   * @return the child; empty for a rank that takes part in none
   * @throws NcclException if NCCL refuses, or not all ranks call in time
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalStateException if this communicator is closed
   * @throws InterruptedException if the thread was interrupted while it waited
   * @wraps {@code ncclCommSplit}; nccl.h, NCCL 2.18 and later
   */
  public Optional<NcclCommunicator> split(int color, int key, NcclConfig config)
      throws InterruptedException {
    int wanted = color < 0 ? NcclCalls.NO_COLOR : color;
    return Deriving.from(
        this,
        config,
        "ncclCommSplit",
        (child, from) ->
            NcclCalls.ncclCommSplit(
                from.context.address(), from.handle(), wanted, key, child.fields(), child.cell));
  }

  /**
   * Makes a communicator without some ranks; every rank that stays must call it.
   *
   * @param excludedRanks who is left out
   * @param abortFirst whether to stop what runs first, which is right if the excluded ranks are
   *     dead
   * @param config settings and deadlines of the child
   * @return the child; close it
   * @throws NcclException if NCCL refuses, or not all ranks call in time
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalStateException if this communicator is closed, or was aborted after a failure
   *     (see {@link NcclConfig.Builder#abortOnFailure})
   * @throws InterruptedException if the thread was interrupted while it waited
   * @wraps {@code ncclCommShrink}; nccl.h, NCCL 2.27.3 and later
   */
  public NcclCommunicator shrink(int[] excludedRanks, boolean abortFirst, NcclConfig config)
      throws InterruptedException {
    int[] excluded = excludedRanks.clone();
    for (int one : excluded) {
      requireRank(one, "excluded rank");
    }
    int flags = abortFirst ? NcclCalls.SHRINK_ABORT : NcclCalls.SHRINK_DEFAULT;
    return Deriving.from(
            this,
            config,
            "ncclCommShrink",
            (child, from) ->
                NcclCalls.ncclCommShrink(
                    from.context.address(),
                    from.handle(),
                    excluded,
                    child.fields(),
                    flags,
                    child.cell))
        .orElseThrow();
  }

  /**
   * The id with which new ranks join; one rank, the root, makes it and hands it to them.
   *
   * @return the id, for one {@link #grow}
   * @throws NcclException if NCCL refuses
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalStateException if this communicator is closed
   * @wraps {@code ncclCommGetUniqueId}; nccl.h, NCCL 2.29.2 and later
   */
  public NcclUniqueId idForGrowing() {
    byte[] id = new byte[NcclUniqueId.BYTES];
    manage("ncclCommGetUniqueId", one -> NcclCalls.ncclCommGetUniqueId(one.handle(), id));
    return NcclUniqueId.of(id);
  }

  /**
   * Makes a communicator with more ranks; every rank must call it, and the new ones {@link
   * #joinGrowing}.
   *
   * @param ranks how many there will be
   * @param id on the root what {@link #idForGrowing()} gave, empty on the others
   * @param config settings and deadlines of the new communicator
   * @return the new communicator; close it
   * @throws NcclException if NCCL refuses, or not all ranks call in time
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalStateException if this communicator is closed
   * @throws InterruptedException if the thread was interrupted while it waited
   * @wraps {@code ncclCommGrow}; nccl.h, NCCL 2.29.2 and later
   */
  public NcclCommunicator grow(int ranks, Optional<NcclUniqueId> id, NcclConfig config)
      throws InterruptedException {
    byte[] given = id.map(NcclUniqueId::toBytes).orElse(new byte[0]);
    return Deriving.from(
            this,
            config,
            "ncclCommGrow",
            (child, from) ->
                NcclCalls.ncclCommGrow(
                    from.context.address(),
                    from.handle(),
                    ranks,
                    given,
                    -1,
                    child.fields(),
                    child.cell))
        .orElseThrow();
  }

  /**
   * Stops everything that runs; after that the communicator can be shrunk or closed.
   *
   * @throws NcclException if NCCL refuses
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalStateException if this communicator is closed
   * @wraps {@code ncclCommRevoke}; nccl.h, NCCL 2.28.7 and later
   */
  public void revoke() {
    requireOpen();
    if (!supports("ncclCommRevoke")) {
      throw LibraryUnavailableException.missing("nccl", "ncclCommRevoke");
    }
    state.revoke(state.config.operationTimeout());
  }

  /**
   * Releases device memory until {@link #resume()}; nothing else may be called in between.
   *
   * @throws NcclException if NCCL refuses
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalStateException if this communicator is closed
   * @wraps {@code ncclCommSuspend}; nccl.h, NCCL 2.29.7 and later
   */
  public void suspend() {
    manage(
        "ncclCommSuspend", one -> NcclCalls.ncclCommSuspend(one.context.address(), one.handle()));
  }

  /**
   * Takes back what {@link #suspend()} released.
   *
   * @throws NcclException if NCCL refuses
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalStateException if this communicator is closed
   * @wraps {@code ncclCommResume}; nccl.h, NCCL 2.29.7 and later
   */
  public void resume() {
    manage("ncclCommResume", one -> NcclCalls.ncclCommResume(one.context.address(), one.handle()));
  }

  /**
   * How much device memory NCCL holds for this communicator.
   *
   * @return the statistics
   * @throws NcclException if NCCL refuses
   * @throws LibraryUnavailableException if the library has no such function
   * @throws IllegalStateException if this communicator is closed
   * @wraps {@code ncclCommMemStats}; nccl.h, NCCL 2.29.7 and later
   */
  public NcclMemoryStatistics memoryStatistics() {
    long[] four = new long[4];
    manage("ncclCommMemStats", one -> NcclCalls.ncclCommMemStats(one.handle(), four));
    return new NcclMemoryStatistics(four[0], four[1] != 0, four[2], four[3]);
  }

  /**
   * What NCCL knows about this communicator and what it can do.
   *
   * @return the properties
   * @throws NcclException if NCCL refuses
   * @throws LibraryUnavailableException if the library has no such function, or its structure is
   *     another one
   * @throws IllegalStateException if this communicator is closed
   * @wraps {@code ncclCommQueryProperties}; nccl_device.h, NCCL 2.32.3 and later
   */
  public NcclProperties properties() {
    return NcclProperties.of(state, this::manage);
  }

  /**
   * Gives up: stops everything, also what hangs. Open operations fail. Close is still needed.
   *
   * <p><b>Blocking:</b> at most {@link NcclConfig#abortTimeout()}.
   *
   * @throws NcclException if the abort did not come back in time
   * @wraps {@code ncclCommAbort}; nccl.h, NCCL 2.4 and later
   */
  public void abort() {
    if (!isClosed()) {
      state.fail(
          new NcclException(
              "ncclCommAbort",
              NcclResult.INVALID_USAGE,
              "the communicator was aborted by the program",
              "",
              state.detail()));
      state.ending.awaitAbort();
    }
  }

  @Override
  protected void closeOwn() {
    List<NativeResource> mine;
    synchronized (owned) {
      if (children > 0) {
        throw new IllegalStateException(
            this + " has " + children + " communicators made from it open: close them first");
      }
      mine = new ArrayList<>(owned);
    }
    for (int i = mine.size() - 1; i >= 0; i--) {
      mine.get(i).close();
    }
    if (state.failure() == null && !state.gate.isShut()) {
      while (!operators.isEmpty()) {
        NcclRedOp op = operators.get(0);
        manage("ncclRedOpDestroy", one -> NcclCalls.ncclRedOpDestroy(one.handle(), op.code()));
        // One by one: a close that is refused half way must not destroy it again next time.
        operators.remove(0);
      }
    }
  }

  @Override
  protected void free() {
    try {
      if (state.failure() == null) {
        state.ending.closeOrderly();
      } else {
        state.ending.awaitAbort();
      }
    } finally {
      NcclWatchdog.remove(state);
      if (parent != null) {
        parent.countChild(-1);
      }
      state.end();
    }
  }

  @Override
  public String toString() {
    return state.toString();
  }

  RankState state() {
    return state;
  }

  void requireOpen() {
    if (isClosed()) {
      throw new IllegalStateException(this + " is closed");
    }
  }

  void requireRank(int rank, String what) {
    if (rank < 0 || rank >= state.ranks) {
      throw new IllegalArgumentException(
          what + " " + rank + " is not one of the " + state.ranks + " ranks");
    }
  }

  void forget(NativeResource closed) {
    synchronized (owned) {
      owned.remove(closed);
    }
  }

  private void countChild(int change) {
    synchronized (owned) {
      children += change;
    }
  }

  private void own(NativeResource made) {
    synchronized (owned) {
      owned.add(made);
    }
  }

  /**
   * Registers what is kept open for that already, so that no close can come between. What NCCL may
   * still be registering stays open until it is aborted, or the communicator closes.
   */
  private <T extends NativeResource> T registered(
      T made, Registered with, String call, Making making) {
    boolean done = false;
    own(made);
    try {
      with.begun(made(call, making));
      done = true;
      return made;
    } finally {
      if (!done && state.failure() == null) {
        made.close();
      } else if (!done) {
        state.ending.whenAborted(made::close);
      }
    }
  }

  private interface Making {
    int call(RankState state, LongPointer cell);
  }

  /** Makes something whose handle appears in a cell. */
  private long made(String call, Making making) {
    LongPointer cell = NcclCalls.cell();
    try {
      manage(call, one -> making.call(one, cell));
    } catch (RuntimeException | Error e) {
      // A call that is late writes there whenever it ends.
      Joining.leave(cell);
      throw e;
    }
    long handle = NcclCalls.read(cell);
    cell.close();
    return handle;
  }

  private void manage(String call, ToIntFunction<RankState> nativeCall) {
    requireOpen();
    Duration limit = state.config.operationTimeout();
    state.manage(call, () -> nativeCall.applyAsInt(state), limit);
  }

  private static long alone(Consumer<NcclGroup> operation) {
    return NcclGroup.run(operation).get(0).sequence();
  }
}
