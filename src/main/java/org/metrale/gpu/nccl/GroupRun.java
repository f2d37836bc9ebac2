package org.metrale.gpu.nccl;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import org.metrale.gpu.LibraryThrewException;
import org.metrale.gpu.cuda.CudaException;

/**
 * Hands a group to NCCL: takes all its communicators, issues everything within one native call, and
 * marks the operations' events.
 */
final class GroupRun {
  private final List<GroupItem> items;

  GroupRun(List<GroupItem> items) {
    this.items = items;
  }

  List<NcclOperation> execute() {
    // Long enough: nothing may go wrong between taking a communicator and noting that.
    List<RankState> inside = new ArrayList<>(items.size());
    TreeSet<RankState> wanted = new TreeSet<>(Comparator.comparingLong(state -> state.number));
    items.forEach(item -> wanted.add(item.state()));
    try {
      for (RankState state : wanted) {
        // In a fixed order, so that two groups cannot wait for each other.
        state.gate.enter(state.config.operationTimeout());
        inside.add(state);
      }
      // Only now: one may have failed, and been aborted, while another was waited for.
      inside.forEach(RankState::requireHealthy);
      NcclWatchdog.wakeIfParked();
      return issue();
    } finally {
      inside.forEach(state -> state.gate.leave());
    }
  }

  private List<NcclOperation> issue() {
    // NCCL uses all streams at the group's end, and until it has started what it took.
    StreamHold hold = hold();
    boolean over = false;
    try {
      List<NcclOperation> out = issueHeld();
      over = true;
      return out;
    } finally {
      RankState broken = over ? null : broken();
      if (broken == null) {
        hold.close();
      } else {
        broken.letGo(hold, false);
      }
    }
  }

  /** A communicator that failed, so that NCCL may go on with the group until that is aborted. */
  private RankState broken() {
    for (GroupItem item : items) {
      if (item.state().failure() != null) {
        return item.state();
      }
    }
    return null;
  }

  private List<NcclOperation> issueHeld() {
    ByteBuffer operations =
        ByteBuffer.allocateDirect(items.size() * NcclCalls.OPERATION_BYTES)
            .order(ByteOrder.nativeOrder());
    Map<RankState, Long> ahead = new HashMap<>();
    List<NcclOperation> out = new ArrayList<>();
    try {
      for (GroupItem item : items) {
        long before = ahead.merge(item.state(), 1L, Long::sum) - 1;
        long sequence =
            item.state()
                .issuing
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
        item.write(operations);
      }
      // With the buffers written down: either this sees a close that came between, or it sees this.
      Issuing.publishBuffers();
      for (GroupItem item : items) {
        item.requireOpen();
      }
      finish(call(operations), operations, out);
    } catch (RuntimeException | Error e) {
      out.forEach(NcclOperation::drop);
      throw e;
    }
    return List.copyOf(out);
  }

  @SuppressWarnings("MustBeClosed") // its callers do
  private StreamHold hold() {
    return StreamHold.of(items.stream().map(GroupItem::stream));
  }

  /** On a thread of this layer if a communicator in it may block inside NCCL. */
  private int call(ByteBuffer operations) {
    long address = NcclCalls.address(operations);
    RankState blocking = null;
    for (GroupItem item : items) {
      if (item.state().isBlocking()) {
        blocking = item.state();
      }
    }
    try {
      return blocking == null
          ? NcclCalls.group(address, items.size())
          : blocking.onThread(
              "ncclGroupEnd", () -> lateCall(operations), blocking.config.operationTimeout());
    } catch (LibraryThrewException e) {
      throw failed(NcclCalls.failed(e.function(), e, ""));
    } catch (NcclException e) {
      // It is late, or threw.
      throw failed(e);
    }
  }

  /** NCCL is still inside with all of them, or has left them as they were. */
  private NcclException failed(NcclException problem) {
    items.forEach(item -> item.state().fail(problem));
    return problem;
  }

  /** Keeps open what it uses also after this has been given up. */
  @SuppressWarnings("try") // only for its end
  private int lateCall(ByteBuffer operations) {
    try (StreamHold hold = hold()) {
      return NcclCalls.group(NcclCalls.address(operations), items.size());
    } finally {
      Reference.reachabilityFence(operations);
    }
  }

  private void finish(int code, ByteBuffer operations, List<NcclOperation> out) {
    int end = code;
    if (end == NcclCalls.IN_PROGRESS) {
      end = NcclCalls.SUCCESS;
      for (GroupItem item : items) {
        Duration limit = item.state().config.operationTimeout();
        item.state().awaitProgress("ncclGroupEnd", limit, item.state().detail());
      }
    }
    if (end != NcclCalls.SUCCESS) {
      throw refused(end, operations);
    }
    for (int i = 0; i < items.size(); i++) {
      GroupItem item = items.get(i);
      long sequence = out.get(i).sequence();
      followLast(item, sequence);
      int recorded =
          NcclCalls.record(
              item.stream().slot(), item.stream().generation(), item.state().events.of(sequence));
      if (recorded != NcclCalls.SUCCESS) {
        throw item.state().refuse("cuEventRecord", recorded, item.state().detail());
      }
      item.state().issuing.issuedOn(item.stream(), isUnordered(item));
      item.state().progress.publish(sequence);
    }
  }

  private static boolean isUnordered(GroupItem item) {
    return item.state().issuing.isUnordered(item.kind().code(), item.count());
  }

  private static void followLast(GroupItem item, long sequence) {
    try {
      item.state().issuing.followLast(isUnordered(item), item.stream(), sequence);
    } catch (CudaException e) {
      // NCCL has the operation already, but nothing would tell when it is done.
      throw item.state().refuse("cuStreamWaitEvent", NcclCalls.CUDA - e.code(), e.getMessage());
    }
  }

  private RuntimeException refused(int code, ByteBuffer operations) {
    GroupItem culprit = items.get(0);
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
