package org.metrale.gpu.nccl;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
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
  private final List<GroupItem> items = new ArrayList<>();
  private boolean over;

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
    return group.items.isEmpty() ? List.of() : new GroupRun(group.items).execute();
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
   * Writes down a reduce; arguments as in {@link NcclCommunicator#reduce}.
   *
   * @param communicator who
   * @param send what to combine
   * @param recv where the result goes on the root
   * @param countElements how many elements
   * @param type of what type
   * @param op how to combine
   * @param root where the result goes
   * @param stream after what else
   */
  public void reduce(
      NcclCommunicator communicator,
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclRedOp op,
      int root,
      CudaStream stream) {
    op.requireUsableBy(communicator);
    CudaBuffer target = Shapes.reduced(send, recv, countElements, type, root, communicator);
    add(
        communicator,
        NcclOperationKind.REDUCE,
        send,
        target,
        countElements,
        type,
        op.code(),
        root,
        stream);
  }

  /**
   * Writes down an all-to-all; arguments as in {@link NcclCommunicator#allToAll}.
   *
   * @param communicator who
   * @param send what to hand out
   * @param recv what comes in
   * @param countElements elements of one part
   * @param type of what type
   * @param stream after what else
   */
  public void allToAll(
      NcclCommunicator communicator,
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      CudaStream stream) {
    Shapes.exchange(send, recv, countElements, type, communicator);
    add(communicator, NcclOperationKind.ALL_TO_ALL, send, recv, countElements, type, 0, 0, stream);
  }

  /**
   * Writes down a gather; arguments as in {@link NcclCommunicator#gather}.
   *
   * @param communicator who
   * @param send this rank's part
   * @param recv where all parts go on the root
   * @param countElements elements of one part
   * @param type of what type
   * @param root where the parts go
   * @param stream after what else
   */
  public void gather(
      NcclCommunicator communicator,
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      CudaStream stream) {
    CudaBuffer target = Shapes.gathered(send, recv, countElements, type, root, communicator);
    add(communicator, NcclOperationKind.GATHER, send, target, countElements, type, 0, root, stream);
  }

  /**
   * Writes down a scatter; arguments as in {@link NcclCommunicator#scatter}.
   *
   * @param communicator who
   * @param send what the root hands out
   * @param recv where this rank's part goes
   * @param countElements elements of one part
   * @param type of what type
   * @param root who hands out
   * @param stream after what else
   */
  public void scatter(
      NcclCommunicator communicator,
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      CudaStream stream) {
    CudaBuffer source = Shapes.scattered(send, recv, countElements, type, root, communicator);
    add(
        communicator,
        NcclOperationKind.SCATTER,
        source,
        recv,
        countElements,
        type,
        0,
        root,
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

  /**
   * Writes down a write into another rank's window; arguments as in {@link
   * NcclCommunicator#putSignal}.
   *
   * @param communicator who
   * @param buffer what
   * @param countElements how many elements
   * @param type of what type
   * @param peer whose window
   * @param window the window
   * @param offsetBytes where in the peer's window
   * @param stream after what else
   */
  public void putSignal(
      NcclCommunicator communicator,
      CudaBuffer buffer,
      long countElements,
      NcclDataType type,
      int peer,
      NcclWindow window,
      long offsetBytes,
      CudaStream stream) {
    communicator.requireRank(peer, "peer");
    Shapes.fits(buffer, countElements, type, "buffer");
    if (window.communicator() != communicator) {
      throw new IllegalArgumentException(window + " is not a window of " + communicator);
    }
    Objects.checkFromIndexSize(
        offsetBytes, countElements << type.shift(), window.buffer().lengthBytes());
    addOneSided(
        communicator,
        NcclOperationKind.PUT_SIGNAL,
        buffer,
        countElements,
        type,
        peer,
        stream,
        new GroupItem.Signal(window, offsetBytes));
  }

  /**
   * Writes down a signal; arguments as in {@link NcclCommunicator#signal}.
   *
   * @param communicator who
   * @param peer whom
   * @param stream after what else
   */
  public void signal(NcclCommunicator communicator, int peer, CudaStream stream) {
    communicator.requireRank(peer, "peer");
    addOneSided(
        communicator,
        NcclOperationKind.SIGNAL,
        null,
        0,
        NcclDataType.INT8,
        peer,
        stream,
        GroupItem.Signal.NONE);
  }

  /**
   * Writes down a wait for signals; arguments as in {@link NcclCommunicator#waitSignal}.
   *
   * @param communicator who
   * @param peer whose
   * @param count how many signals
   * @param stream what waits
   */
  public void waitSignal(NcclCommunicator communicator, int peer, int count, CudaStream stream) {
    communicator.requireRank(peer, "peer");
    if (count < 1) {
      throw new IllegalArgumentException("waiting for " + count + " signals");
    }
    addOneSided(
        communicator,
        NcclOperationKind.WAIT_SIGNAL,
        null,
        count,
        NcclDataType.INT8,
        peer,
        stream,
        GroupItem.Signal.NONE);
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
    write(communicator, kind, send, recv, count, type, op, peer, stream, GroupItem.Signal.NONE);
  }

  private void addOneSided(
      NcclCommunicator communicator,
      NcclOperationKind kind,
      CudaBuffer buffer,
      long count,
      NcclDataType type,
      int peer,
      CudaStream stream,
      GroupItem.Signal signal) {
    write(communicator, kind, buffer, null, count, type, 0, peer, stream, signal);
  }

  private void write(
      NcclCommunicator communicator,
      NcclOperationKind kind,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      NcclDataType type,
      int op,
      int peer,
      CudaStream stream,
      GroupItem.Signal signal) {
    if (over) {
      throw new IllegalStateException("the group is over: use it inside its body only");
    }
    communicator.requireOpen();
    RankState state = communicator.state();
    state.issuing.check(send, recv, Objects.requireNonNull(stream, "stream"));
    if (stream.isClosed()) {
      throw new IllegalStateException(stream + " is closed");
    }
    items.add(new GroupItem(state, kind, send, recv, count, type, op, peer, stream, signal));
  }
}
