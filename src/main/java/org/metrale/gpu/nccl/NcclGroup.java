package org.metrale.gpu.nccl;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaStream;

/**
 * Operations that NCCL starts together: sends and receives that need each other, or operations of
 * several communicators in one thread.
 *
 * <p>The body only writes down what it wants. Then start, operations and end run inside one native
 * call: on one OS thread, whatever thread asked, and the end is reached whatever happens. If the
 * body throws, nothing was started.
 *
 * <p><b>Threading:</b> the group object belongs to the body; {@link #run} may be called from any
 * thread, also a virtual one.
 */
public final class NcclGroup {
  private final List<Item> items = new ArrayList<>();
  private boolean over;

  /** One operation that was written down. */
  private record Item(
      RankState state,
      NcclOperationKind kind,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      NcclDataType type,
      int op,
      int peer,
      CudaStream stream,
      Signal signal) {}

  /** The further arguments of one-sided operations. */
  record Signal(long window, long offsetBytes, int index, int context) {
    static final Signal NONE = new Signal(0, 0, 0, 0);
  }

  private NcclGroup() {}

  /**
   * Runs a group.
   *
   * <p><b>Blocking:</b> until everything is queued, at most the shortest operation deadline of the
   * communicators in it.
   *
   * @param body issues operations on the group it is given
   * @return the operations in the order in which they were written down
   * @throws NcclException if NCCL refuses one of them; none counts as issued then
   * @throws IllegalArgumentException if an operation's arguments are wrong; nothing was started
   *     then
   * @throws IllegalStateException if a communicator, buffer or stream is closed
   * @wraps {@code ncclGroupStart}, {@code ncclGroupEnd}; nccl.h, NCCL 2.0 and later
   */
  public static List<NcclOperation> run(Consumer<NcclGroup> body) {
    NcclGroup group = new NcclGroup();
    try {
      body.accept(group);
    } finally {
      group.over = true;
    }
    return group.items.isEmpty() ? List.of() : group.execute();
  }

  /**
   * Writes down an all-reduce; arguments as in {@link NcclCommunicator#allReduce}.
   *
   * @param communicator who
   * @param send what to combine
   * @param recv where the result goes
   * @param countElements how many elements
   * @param type of what type
   * @param op how to combine
   * @param stream after what else
   */
  public void allReduce(
      NcclCommunicator communicator,
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclRedOp op,
      CudaStream stream) {
    Shapes.same(send, recv, countElements, type);
    op.requireUsableBy(communicator);
    add(
        communicator,
        NcclOperationKind.ALL_REDUCE,
        send,
        recv,
        countElements,
        type,
        op.code(),
        0,
        stream);
  }

  /**
   * Writes down a broadcast; arguments as in {@link NcclCommunicator#broadcast}.
   *
   * @param communicator who
   * @param send what the root copies
   * @param recv where it goes
   * @param countElements how many elements
   * @param type of what type
   * @param root whose
   * @param stream after what else
   */
  public void broadcast(
      NcclCommunicator communicator,
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      CudaStream stream) {
    communicator.requireRank(root, "root");
    Shapes.same(send, recv, countElements, type);
    add(
        communicator,
        NcclOperationKind.BROADCAST,
        send,
        recv,
        countElements,
        type,
        0,
        root,
        stream);
  }

  /**
   * Writes down an all-gather; arguments as in {@link NcclCommunicator#allGather}.
   *
   * @param communicator who
   * @param send this rank's part
   * @param recv where all parts go
   * @param countElements elements of one part
   * @param type of what type
   * @param stream after what else
   */
  public void allGather(
      NcclCommunicator communicator,
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      CudaStream stream) {
    Shapes.partInRecv(send, recv, countElements, type, communicator);
    add(communicator, NcclOperationKind.ALL_GATHER, send, recv, countElements, type, 0, 0, stream);
  }

  /**
   * Writes down a reduce-scatter; arguments as in {@link NcclCommunicator#reduceScatter}.
   *
   * @param communicator who
   * @param send all parts
   * @param recv where this rank's part goes
   * @param countElements elements of one part
   * @param type of what type
   * @param op how to combine
   * @param stream after what else
   */
  public void reduceScatter(
      NcclCommunicator communicator,
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclRedOp op,
      CudaStream stream) {
    Shapes.partInSend(send, recv, countElements, type, communicator);
    op.requireUsableBy(communicator);
    add(
        communicator,
        NcclOperationKind.REDUCE_SCATTER,
        send,
        recv,
        countElements,
        type,
        op.code(),
        0,
        stream);
  }

  /**
   * Writes down a send; arguments as in {@link NcclCommunicator#send}.
   *
   * @param communicator who
   * @param buffer what
   * @param countElements how many elements
   * @param type of what type
   * @param peer to whom
   * @param stream after what else
   */
  public void send(
      NcclCommunicator communicator,
      CudaBuffer buffer,
      long countElements,
      NcclDataType type,
      int peer,
      CudaStream stream) {
    communicator.requireRank(peer, "peer");
    Shapes.fits(buffer, countElements, type, "send");
    add(communicator, NcclOperationKind.SEND, buffer, null, countElements, type, 0, peer, stream);
  }

  /**
   * Writes down a receive; arguments as in {@link NcclCommunicator#receive}.
   *
   * @param communicator who
   * @param buffer where to
   * @param countElements how many elements
   * @param type of what type
   * @param peer from whom
   * @param stream after what else
   */
  public void receive(
      NcclCommunicator communicator,
      CudaBuffer buffer,
      long countElements,
      NcclDataType type,
      int peer,
      CudaStream stream) {
    communicator.requireRank(peer, "peer");
    Shapes.fits(buffer, countElements, type, "receive");
    add(
        communicator,
        NcclOperationKind.RECEIVE,
        null,
        buffer,
        countElements,
        type,
        0,
        peer,
        stream);
  }

  private void add(
      NcclCommunicator communicator,
      NcclOperationKind kind,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      NcclDataType type,
      int op,
      int peer,
      CudaStream stream) {
    addSignal(communicator, kind, send, recv, count, type, op, peer, stream, Signal.NONE);
  }

  void addSignal(
      NcclCommunicator communicator,
      NcclOperationKind kind,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      NcclDataType type,
      int op,
      int peer,
      CudaStream stream,
      Signal signal) {
    if (over) {
      throw new IllegalStateException("the group is over: use it inside its body only");
    }
    communicator.requireOpen();
    RankState state = communicator.state();
    state.check(send, recv, Objects.requireNonNull(stream, "stream"));
    if (stream.isClosed()) {
      throw new IllegalStateException(stream + " is closed");
    }
    items.add(new Item(state, kind, send, recv, count, type, op, peer, stream, signal));
  }

  private List<NcclOperation> execute() {
    List<RankState> inside = new ArrayList<>();
    TreeSet<RankState> wanted = new TreeSet<>(Comparator.comparingLong(state -> state.number));
    items.forEach(item -> wanted.add(item.state()));
    try {
      for (RankState state : wanted) {
        // In a fixed order, so that two groups cannot wait for each other.
        state.enter(state.config.operationTimeout());
        inside.add(state);
        state.requireHealthy();
      }
      if (NcclWatchdog.parked) {
        NcclWatchdog.wake();
      }
      return issue();
    } finally {
      inside.forEach(RankState::leave);
    }
  }

  private List<NcclOperation> issue() {
    ByteBuffer operations =
        ByteBuffer.allocateDirect(items.size() * NcclCalls.OPERATION_BYTES)
            .order(ByteOrder.nativeOrder());
    Map<RankState, Long> ahead = new HashMap<>();
    List<NcclOperation> out = new ArrayList<>();
    for (Item item : items) {
      long before = ahead.merge(item.state(), 1L, Long::sum) - 1;
      long sequence =
          item.state()
              .reserve(
                  item.kind(),
                  item.count(),
                  item.type().code(),
                  item.op(),
                  item.peer(),
                  item.stream().address(),
                  before);
      item.state().ring.keep(sequence, item.send(), item.recv());
      out.add(new NcclOperation(item.state(), sequence));
      write(operations, item);
    }
    try {
      finish(call(operations), operations, out);
    } catch (RuntimeException e) {
      out.forEach(NcclOperation::drop);
      throw e;
    }
    return List.copyOf(out);
  }

  private static void write(ByteBuffer to, Item item) {
    to.putInt(item.kind().code()).putInt(item.type().code());
    to.putInt(item.op()).putInt(item.peer());
    to.putLong(item.state().handle());
    to.putLong(item.send() == null ? 0 : item.send().address());
    to.putLong(item.recv() == null ? 0 : item.recv().address());
    to.putLong(item.count());
    to.putLong(item.stream().slot()).putLong(item.stream().generation());
    to.putLong(item.signal().window()).putLong(item.signal().offsetBytes());
    to.putInt(item.signal().index()).putInt(item.signal().context());
    to.putInt(0).putInt(0);
  }

  /** On a thread of this layer if a communicator in it may block inside NCCL. */
  private int call(ByteBuffer operations) {
    long address = NcclCalls.address(operations);
    RankState blocking = null;
    for (Item item : items) {
      if (item.state().isBlocking()) {
        blocking = item.state();
      }
    }
    if (blocking == null) {
      return NcclCalls.group(address, items.size());
    }
    CompletableFuture<ByteBuffer> keep = CompletableFuture.completedFuture(operations);
    return blocking.onHelper(
        "ncclGroupEnd",
        () -> {
          int code = NcclCalls.group(address, items.size());
          return keep.isDone() ? code : NcclCalls.SUCCESS;
        },
        blocking.config.operationTimeout());
  }

  private void finish(int code, ByteBuffer operations, List<NcclOperation> out) {
    int end = code;
    if (end == NcclCalls.IN_PROGRESS) {
      end = NcclCalls.SUCCESS;
      for (Item item : items) {
        Duration limit = item.state().config.operationTimeout();
        item.state().awaitProgress("ncclGroupEnd", limit, item.state().detail());
      }
    }
    if (end != NcclCalls.SUCCESS) {
      throw refused(end, operations);
    }
    for (int i = 0; i < items.size(); i++) {
      Item item = items.get(i);
      long sequence = out.get(i).sequence();
      int recorded =
          NcclCalls.record(
              item.stream().slot(), item.stream().generation(), item.state().events.of(sequence));
      if (recorded != NcclCalls.SUCCESS) {
        throw item.state().refuse("cuEventRecord", recorded, item.state().detail());
      }
      item.state().publish(sequence);
    }
  }

  private RuntimeException refused(int code, ByteBuffer operations) {
    Item culprit = items.get(0);
    String call = "ncclGroupEnd";
    for (int i = 0; i < items.size(); i++) {
      int at = (i + 1) * NcclCalls.OPERATION_BYTES - 2 * Integer.BYTES;
      int result = operations.getInt(at);
      if (result != NcclCalls.SUCCESS && result != NcclCalls.IN_PROGRESS) {
        culprit = items.get(i);
        call = culprit.kind().call();
      }
    }
    if (code == NcclCalls.CLOSED) {
      return new IllegalStateException(culprit.stream() + " is closed");
    }
    return culprit.state().refuse(call, code, culprit.state().detail());
  }
}
