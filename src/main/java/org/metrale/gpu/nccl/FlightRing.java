package org.metrale.gpu.nccl;

import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;

/**
 * The last operations of one communicator, in arrays that are written without allocation.
 *
 * <p>One writer at a time (whoever holds the communicator); readers may see an operation half
 * overwritten and then leave it out: an entry's number is cleared first and set last.
 */
final class FlightRing {
  private static final int STRIDE = 8;
  private static final int SEQUENCE = 0;
  private static final int WHAT = 1;
  private static final int COUNT = 2;
  private static final int PEER = 3;
  private static final int STREAM = 4;
  private static final int ISSUED = 5;

  /** How many operations before it were no collectives. */
  private static final int APART = 6;

  private static final int TYPE_SHIFT = 8;
  private static final int OP_SHIFT = 16;

  private static final int BYTE = 0xff;

  /** The first kind that is no collective, as are those after it. */
  private static final int FIRST_APART = NcclOperationKind.SEND.code();

  private final int mask;
  private final long[] entries;

  /**
   * When operations ended: pairs of the last one that had, and when that was seen. As many pairs as
   * operations, for each pair stands for one at least. Written by one at a time.
   */
  private final long[] ends;

  private long endCount;

  /** How many operations that were written are no collectives. */
  private long apart;

  /** Keeps the buffers of operations that may still run reachable, and their owners open. */
  private final CudaBuffer[] buffers;

  /** Buffers of open operations whose entries were needed again; which operation used them last. */
  private final IdentityHashMap<CudaBuffer, Long> outlived = new IdentityHashMap<>();

  FlightRing(int capacity) {
    mask = capacity - 1;
    entries = new long[capacity * STRIDE];
    ends = new long[2 * capacity];
    buffers = new CudaBuffer[2 * capacity];
    for (int i = 0; i < capacity; i++) {
      entries[i * STRIDE] = -1;
    }
  }

  /** Kind, type and reduction in one number, as the shim takes it too. */
  static long what(NcclOperationKind kind, int type, int op) {
    return kind.code() | (type << TYPE_SHIFT) | ((long) op << OP_SHIFT);
  }

  static NcclOperationKind kindOf(long what) {
    return NcclOperationKind.of(kindCode(what));
  }

  static int kindCode(long what) {
    return (int) what & BYTE;
  }

  int capacity() {
    return mask + 1;
  }

  /** Writes an operation that is about to be issued. */
  void write(long sequence, long what, long count, int peer, long stream) {
    int at = ((int) sequence & mask) * STRIDE;
    long[] all = entries;
    all[at] = -1;
    all[at + WHAT] = what;
    all[at + COUNT] = count;
    all[at + PEER] = peer;
    all[at + STREAM] = stream;
    all[at + ISSUED] = NcclWatchdog.coarseNanos;
    all[at + APART] = apart;
    if (kindCode(what) >= FIRST_APART) {
      apart++;
    }
    all[at + SEQUENCE] = sequence;
  }

  void keep(long sequence, CudaBuffer send, CudaBuffer recv) {
    int at = ((int) sequence & mask) * 2;
    // A program that goes round finds its buffers here; storing a reference costs more than
    // looking.
    if (buffers[at] != send) {
      buffers[at] = send;
    }
    if (buffers[at + 1] != recv) {
      buffers[at + 1] = recv;
    }
  }

  /** Remembers the buffers of an open operation before another one takes its entry. */
  void outlive(long sequence) {
    int at = ((int) sequence & mask) * 2;
    synchronized (outlived) {
      for (int i = at; i < at + 2; i++) {
        if (buffers[i] != null) {
          outlived.put(buffers[i], sequence);
        }
      }
    }
  }

  /** Forgets buffers of operations that are done and have no entry any more. */
  void forget(long completed) {
    synchronized (outlived) {
      if (!outlived.isEmpty()) {
        outlived.values().removeIf(sequence -> sequence <= completed);
      }
    }
  }

  /** The first operation found that is not done and uses a memory; -1 if there is none. */
  long userOf(NativeResource memory, long completed) {
    for (int i = 0; i <= mask; i++) {
      long sequence = entries[i * STRIDE];
      if (sequence > completed
          && (isOwned(buffers[2 * i], memory) || isOwned(buffers[2 * i + 1], memory))) {
        return sequence;
      }
    }
    // Whoever takes an entry remembers its buffers first; so this is looked at last.
    VarHandle.fullFence();
    synchronized (outlived) {
      for (Map.Entry<CudaBuffer, Long> one : outlived.entrySet()) {
        if (one.getValue() > completed && one.getKey().isOwnedBy(memory)) {
          return one.getValue();
        }
      }
    }
    return -1;
  }

  private static boolean isOwned(CudaBuffer buffer, NativeResource memory) {
    return buffer != null && buffer.isOwnedBy(memory);
  }

  /** Forgets an operation that was refused. */
  void drop(long sequence) {
    int at = ((int) sequence & mask) * STRIDE;
    if (entries[at] == sequence && kindCode(entries[at + WHAT]) >= FIRST_APART) {
      apart--;
    }
    entries[at] = -1;
    keep(sequence, null, null);
  }

  /** Notes that all operations up to one are done; their buffers stay reachable for a while. */
  void finish(long last, long nanos) {
    int at = ((int) endCount & mask) * 2;
    ends[at] = last;
    ends[at + 1] = nanos;
    endCount++;
  }

  long issuedNanos(long sequence) {
    return entries[((int) sequence & mask) * STRIDE + ISSUED];
  }

  NcclOperationKind kind(long sequence) {
    return kindOf(entries[((int) sequence & mask) * STRIDE + WHAT]);
  }

  /** What is kept, oldest first. */
  List<NcclFlightRecord.Entry> read(long last, long completed, boolean failed) {
    List<NcclFlightRecord.Entry> out = new ArrayList<>();
    long newestEnd = endCount;
    long end = Math.max(0, newestEnd - mask);
    for (long sequence = Math.max(0, last - mask); sequence <= last; sequence++) {
      int at = ((int) sequence & mask) * STRIDE;
      if (entries[at] == sequence) {
        long finished = 0;
        NcclFlightRecord.State state = NcclFlightRecord.State.RUNNING;
        if (sequence <= completed) {
          state = NcclFlightRecord.State.DONE;
          while (end < newestEnd - 1 && ends[((int) end & mask) * 2] < sequence) {
            end++;
          }
          finished = ends[((int) end & mask) * 2 + 1];
        } else if (failed) {
          state = NcclFlightRecord.State.FAILED;
        }
        out.add(entry(at, sequence, state, finished));
      }
    }
    return out;
  }

  private NcclFlightRecord.Entry entry(
      int at, long sequence, NcclFlightRecord.State state, long finished) {
    long what = entries[at + WHAT];
    return new NcclFlightRecord.Entry(
        sequence,
        kindCode(what) >= FIRST_APART ? -1 : sequence - entries[at + APART],
        kindOf(what),
        NcclDataType.name((int) (what >> TYPE_SHIFT) & BYTE),
        (int) (what >> OP_SHIFT),
        entries[at + COUNT],
        (int) entries[at + PEER],
        entries[at + STREAM],
        state,
        entries[at + ISSUED],
        finished);
  }
}
