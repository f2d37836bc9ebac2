package org.metrale.gpu.nccl;

import java.lang.invoke.VarHandle;
import java.time.Duration;
import org.metrale.gpu.LibraryThrewException;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaStream;

/**
 * Hands operations to NCCL, one at a time, and writes them into the flight recorder. Allocates
 * nothing where nothing goes wrong.
 */
final class Issuing {
  private static final Duration CHECK_PATIENCE = Duration.ofMillis(500);

  /** How often one looks again whether operations that the ring has no room for are done. */
  private static final int LOOK_EVERY = 64;

  /** A greater peer does not fit into the number that an owner's call takes. */
  private static final int OWNED_PEERS = 1 << 16;

  /** Where an owner's call has the peer beside what else it is. */
  private static final int PEER_SHIFT = 48;

  /** Says that the context is attached to the owner's thread; below the peer. */
  private static final long ATTACHED = 1L << (PEER_SHIFT - 1);

  private static final long NOT_OWNED = -1;

  /** The first kind that is one-sided, as are those after it. */
  private static final int ONE_SIDED = NcclOperationKind.PUT_SIGNAL.code();

  private final RankState rank;
  private final Gate gate;
  private final Progress progress;
  private final FlightRing ring;
  private final Settling settling;
  private final boolean guardedCalls;

  /** The last locations that were found usable; a cache, so a race is harmless. */
  private Object goodSend;

  private Object goodRecv;

  /** Where the last operation is, for who has the communicator; null before there was one. */
  private CudaStream lastStream;

  /** Whether NCCL may do that one beside others. */
  private boolean lastUnordered;

  Issuing(RankState rank) {
    this.rank = rank;
    this.gate = rank.gate;
    this.progress = rank.progress;
    this.ring = rank.ring;
    this.settling = new Settling(rank);
    this.guardedCalls = rank.config.guardedCalls();
  }

  /** Queues one operation with settings of its own; its number. */
  long submitConfigured(
      NcclOperationKind kind,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      NcclDataType type,
      int op,
      int peer,
      CudaStream stream,
      NcclCallConfig config) {
    long what = FlightRing.what(kind, type.code(), op);
    return submitEntered(kind, what, send, recv, count, peer, stream, config);
  }

  /** Queues one operation; its number. */
  long submit(
      NcclOperationKind kind,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      NcclDataType type,
      int op,
      int peer,
      CudaStream stream) {
    long what = FlightRing.what(kind, type.code(), op);
    Owner mine = gate.mine();
    if (mine != null) {
      long sequence = submitOwned(mine, what, send, recv, count, peer, stream);
      if (sequence != NOT_OWNED) {
        return sequence;
      }
    }
    return submitEntered(kind, what, send, recv, count, peer, stream, null);
  }

  /** The owner's way. What it reads before the call is right if the call finds it the owner. */
  private long submitOwned(
      Owner mine,
      long what,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      int peer,
      CudaStream stream) {
    long sequence = mine.next;
    boolean ready =
        stream == mine.stream
            && count != 0
            && mine.knows(send)
            && mine.knows(recv)
            && sequence <= mine.roomUntil;
    if (peer >= OWNED_PEERS || !(ready || isReady(mine, what, send, recv, count, stream))) {
      return NOT_OWNED;
    }
    mine.begin();
    int code;
    try {
      // Before the call, for who closes memory and then looks what it is used by.
      ring.write(sequence, what, count, peer, stream.address());
      ring.keep(sequence, send, recv);
      long from = send == null ? 0 : send.address();
      long to = recv == null ? 0 : recv.address();
      long all = what | (long) peer << PEER_SHIFT | (mine.isAttached() ? ATTACHED : 0);
      code =
          ready
              ? NcclCalls.submitAgain(all, mine.memory, mine.epoch, from, to, count)
              : NcclCalls.submitOwned(
                  all,
                  mine.memory,
                  mine.epoch,
                  from,
                  to,
                  count,
                  stream.slot(),
                  stream.generation());
    } catch (LibraryThrewException e) {
      throw brokenOwned(mine, what, e);
    } catch (RuntimeException | Error e) {
      ring.drop(sequence);
      mine.end();
      throw e;
    }
    if (code != NcclCalls.SUCCESS || !ready) {
      return settleOwned(mine, what, count, stream, code);
    }
    mine.next = sequence + 1;
    progress.publish(sequence);
    mine.end();
    return sequence;
  }

  private NcclException brokenOwned(Owner mine, long what, LibraryThrewException thrown) {
    try {
      return rank.broken(FlightRing.kindOf(what).call(), thrown);
    } finally {
      mine.end();
    }
  }

  /** The rest of the owner's way; apart, so that the compiler takes the usual way as a whole. */
  private long settleOwned(Owner mine, long what, long count, CudaStream stream, int code) {
    long sequence = mine.next;
    try {
      if (code == NcclCalls.AGAIN) {
        ring.drop(sequence);
        return NOT_OWNED;
      }
      issuedOn(stream, isUnordered(what, count));
      // Until it is settled the next one is looked at as a whole.
      mine.stream = null;
      if (code != NcclCalls.SUCCESS) {
        // Native memory does not know which operation is next any more.
        gate.disown();
        settling.settle(FlightRing.kindOf(what).call(), code, sequence, stream);
      }
      mine.stream = count == 0 ? null : stream;
      mine.next = sequence + 1;
      progress.publish(sequence);
      return sequence;
    } finally {
      mine.end();
    }
  }

  /**
   * Whether an operation may go the owner's way although it is not like the one before: on another
   * stream, with other buffers, or where there may be no room.
   */
  private boolean isReady(
      Owner mine, long what, CudaBuffer send, CudaBuffer recv, long count, CudaStream stream) {
    // What failed stays in the recorder.
    rank.requireHealthy();
    boolean unordered = isUnordered(what, count);
    boolean follows = stream == lastStream || !(lastUnordered || unordered);
    if (!follows || !hasRoom(mine, mine.next)) {
      return false;
    }
    // What is open here is open when the call finds that this is still the owner.
    check(send, recv, stream);
    if (send != null) {
      send.checkedBy(mine);
    }
    if (recv != null) {
      recv.checkedBy(mine);
    }
    return true;
  }

  private long submitEntered(
      NcclOperationKind kind,
      long what,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      int peer,
      CudaStream stream,
      NcclCallConfig config) {
    gate.enterChecking(rank.config.operationTimeout());
    try {
      // Only now: whoever closes memory from here on waits until the ring says what is used.
      check(send, recv, stream);
      rank.requireHealthy();
      NcclWatchdog.wakeIfParked();
      long sequence = progress.next();
      makeRoom(sequence);
      boolean unordered = isUnordered(what, count);
      followLast(unordered, stream, sequence);
      long event = rank.events.of(sequence);
      ring.write(sequence, what, count, peer, stream.address());
      ring.keep(sequence, send, recv);
      gate.checked();
      String name = config == null ? kind.call() : kind.configuredCall();
      int code = callOrDrop(name, what, send, recv, count, peer, stream, config, sequence, event);
      issuedOn(stream, unordered);
      if (code != NcclCalls.SUCCESS) {
        settling.settle(name, code, sequence, stream);
      }
      progress.publish(sequence);
      if (!guardedCalls && sequence + 1 >= rank.events.capacity()) {
        gate.reward(sequence + 1);
      }
      return sequence;
    } finally {
      gate.leave();
    }
  }

  /**
   * Whether NCCL does not put an operation behind those before it on other streams: it copies where
   * there is one rank, and starts nothing where there is nothing to do. One-sided operations are
   * left alone, since what they wait for may come later on another stream.
   */
  boolean isUnordered(long what, long count) {
    return (count == 0 || rank.ranks == 1) && FlightRing.kindCode(what) < ONE_SIDED;
  }

  /**
   * Makes a stream wait for the operation before the one given if NCCL does not: the event behind
   * an operation stands for all before it. Behind the gate.
   */
  void followLast(boolean unordered, CudaStream stream, long sequence) {
    if (lastStream != null
        && stream != lastStream
        && sequence - 1 > progress.completed()
        && (lastUnordered || unordered)) {
      stream.waitFor(rank.events.event(sequence - 1));
    }
  }

  /** Notes where the last operation is. Behind the gate, or as the owner. */
  void issuedOn(CudaStream stream, boolean unordered) {
    if (lastStream != stream) {
      lastStream = stream;
    }
    if (lastUnordered != unordered) {
      lastUnordered = unordered;
    }
  }

  private int callOrDrop(
      String name,
      long what,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      int peer,
      CudaStream stream,
      NcclCallConfig config,
      long sequence,
      long event) {
    try {
      return guardedCalls
          ? guarded(name, what, send, recv, count, peer, stream, config, event)
          : call(what, send, recv, count, peer, stream, config, event);
    } catch (LibraryThrewException e) {
      throw rank.broken(name, e);
    } catch (RuntimeException | Error e) {
      if (rank.failure() == null) {
        // Otherwise it may still be running.
        ring.drop(sequence);
      }
      throw e;
    }
  }

  private int call(
      long what,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      int peer,
      CudaStream stream,
      NcclCallConfig config,
      long event) {
    if (config != null) {
      return config.submit(what, gate.memory(), send, recv, count, peer, stream, event);
    }
    return NcclCalls.submit(
        what,
        gate.memory(),
        send == null ? 0 : send.address(),
        recv == null ? 0 : recv.address(),
        count,
        peer,
        stream.slot(),
        stream.generation(),
        event);
  }

  private int guarded(
      String name,
      long what,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      int peer,
      CudaStream stream,
      NcclCallConfig config,
      long event) {
    return rank.onThread(
        name,
        () -> call(what, send, recv, count, peer, stream, config, event),
        rank.config.operationTimeout());
  }

  /** The number of an operation of a group, behind the gate; the caller issues and publishes it. */
  long reserve(
      NcclOperationKind kind, long count, int type, int op, int peer, long stream, long ahead) {
    long sequence = progress.next() + ahead;
    makeRoom(sequence);
    ring.write(sequence, FlightRing.what(kind, type, op), count, peer, stream);
    return sequence;
  }

  /** Makes sure that the buffers are open and where this communicator's device can reach them. */
  void check(CudaBuffer send, CudaBuffer recv, CudaStream stream) {
    if (stream.context() != rank.context) {
      requireSameDevice(stream);
    }
    if (send != null) {
      send.requireOpen();
      Object place = send.location(rank.context);
      if (place != goodSend) {
        goodSend = Place.require(rank, send);
      }
    }
    if (recv != null && recv != send) {
      recv.requireOpen();
      Object place = recv.location(rank.context);
      if (place != goodRecv) {
        goodRecv = Place.require(rank, recv);
      }
    }
  }

  private void requireSameDevice(CudaStream stream) {
    if (!stream.context().device().equals(rank.context.device())) {
      throw new IllegalArgumentException(
          stream + " belongs to another device than " + rank + " on " + rank.context.device());
    }
  }

  /** Whether the entry of an operation is free, or can be had by looking what is done. */
  private boolean hasRoom(Owner mine, long sequence) {
    if (sequence - ring.capacity() > progress.completed()) {
      progress.poll();
    }
    mine.roomUntil = progress.completed() + ring.capacity();
    mine.lookForAttachment(rank.context);
    return sequence <= mine.roomUntil;
  }

  /** Keeps in mind what an operation uses that is still open when its entry is needed again. */
  private void makeRoom(long sequence) {
    if (sequence - ring.capacity() > progress.completed()) {
      makeRoomSlowly(sequence);
    }
  }

  private void makeRoomSlowly(long sequence) {
    long oldest = sequence - ring.capacity();
    if (oldest == progress.completed() + 1 || sequence % LOOK_EVERY == 0) {
      progress.poll();
      rank.requireHealthy();
      ring.forget(progress.completed());
    }
    if (oldest > progress.completed()) {
      ring.outlive(oldest);
    }
  }

  /**
   * What still works on a memory that is about to be closed; null if nothing does. After {@link
   * Gate#disown} and a barrier.
   */
  String userOf(NativeResource memory) {
    // Within this time the gate's holder has written down what it uses, or is not going to.
    if (!gate.awaitChecked(CHECK_PATIENCE)) {
      return "an operation of " + rank + " that is being issued";
    }
    if (rank.ending.hasStopped()) {
      return null;
    }
    progress.poll();
    long sequence = ring.userOf(memory, progress.completed());
    if (sequence < 0) {
      return null;
    }
    String out = "operation " + sequence + " (" + ring.kind(sequence).call() + ") of " + rank;
    return rank.failure() == null
        ? out
        : out + ", which failed but was not stopped: abort or close it";
  }

  /**
   * With the buffers of a group written down: either this sees a close, or the closer sees this.
   */
  static void publishBuffers() {
    VarHandle.fullFence();
  }
}
