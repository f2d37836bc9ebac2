package org.metrale.gpu.verbs;

import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.util.Objects;

/**
 * Completions as they were taken off a queue, in one direct buffer that is used again and again.
 *
 * <p><b>Threading:</b> one thread at a time.
 */
public final class VerbsCompletions {
  private static final int COMPLETION_BYTES = 48;

  // In words of 8 bytes, two fields in some.
  private static final int WORDS = COMPLETION_BYTES / Long.BYTES;
  private static final int ID = 0;
  private static final int STATUS_AND_OPCODE = 1;
  private static final int VENDOR_AND_BYTE_COUNT = 2;
  private static final int IMMEDIATE_AND_QUEUE_PAIR = 3;
  private static final int PEER_AND_FLAGS = 4;

  private final LongBuffer words;

  /** What the words are in; kept for as long as its address is in use. */
  private final ByteBuffer buffer;

  private final long address;
  private final int capacity;
  private final VerbsWorkException[] firstErrors;

  /** The callers' numbers. */
  private final long[] workIds;

  private int size;

  /** How many from the first one on were done and have ids that count up, as far as it is known. */
  private int run;

  /** Whether one of them was not done. */
  private boolean flawed;

  /** How many queue pairs had come when they were taken, unless they were taken just now. */
  private long turns;

  private VerbsCompletions(int capacity) {
    this.buffer = VerbsWorkCalls.buffer(Math.multiplyExact(capacity, COMPLETION_BYTES));
    this.words = buffer.asLongBuffer();
    this.address = VerbsWorkCalls.address(buffer);
    this.capacity = capacity;
    this.firstErrors = new VerbsWorkException[capacity];
    this.workIds = new long[capacity];
  }

  /**
   * Makes an empty list.
   *
   * @param capacity how many completions fit, from 1
   * @return the list
   * @throws IllegalArgumentException if {@code capacity} is below 1
   */
  public static VerbsCompletions allocate(int capacity) {
    if (capacity < 1) {
      throw new IllegalArgumentException("capacity: wanted 1 or more, got " + capacity);
    }
    return new VerbsCompletions(capacity);
  }

  /**
   * How many there are.
   *
   * @return 0 or more
   */
  public int size() {
    return size;
  }

  /**
   * Which request it is about.
   *
   * @param index from 0
   * @return the number that the caller gave the request
   * @throws IndexOutOfBoundsException if there is no such completion
   */
  public long workId(int index) {
    return workIds[Objects.checkIndex(index, size)];
  }

  /**
   * Whether the request was done.
   *
   * @param index from 0
   * @return false if {@link #failure} has something to tell
   * @throws IndexOutOfBoundsException if there is no such completion
   */
  public boolean isSuccess(int index) {
    int at = Objects.checkIndex(index, size);
    return !flawed || status(at) == VerbsWorkCalls.SUCCESS;
  }

  /**
   * Whether it is about a receive request; also where that was not done.
   *
   * @param index from 0
   * @return false for a request of the send queue
   * @throws IndexOutOfBoundsException if there is no such completion
   */
  public boolean isReceive(int index) {
    return WorkLedger.isReceive(words.get(at(index) + ID));
  }

  /**
   * What the request did.
   *
   * @param index from 0
   * @return the operation; counts only for requests that were done
   * @throws IndexOutOfBoundsException if there is no such completion
   */
  public VerbsOperation operation(int index) {
    return VerbsOperation.of(VerbsWorkCalls.second(words.get(at(index) + STATUS_AND_OPCODE)));
  }

  /**
   * Whether the peer gave a number with what it sent or wrote.
   *
   * @param index from 0
   * @return true if {@link #immediate} is that number
   * @throws IndexOutOfBoundsException if there is no such completion
   */
  public boolean hasImmediate(int index) {
    // Soft-RoCE sets the flag at the sender too.
    int flags = VerbsWorkCalls.second(words.get(at(index) + PEER_AND_FLAGS));
    return (flags & VerbsWorkCalls.HAS_IMMEDIATE) != 0 && isReceive(index) && isSuccess(index);
  }

  /**
   * The number that the peer gave with what it sent or wrote.
   *
   * @param index from 0
   * @return 32 bits
   * @throws IndexOutOfBoundsException if there is no such completion
   * @throws IllegalStateException if it has none
   */
  public int immediate(int index) {
    if (!hasImmediate(index)) {
      throw new IllegalStateException("the completion of " + workId(index) + " has no number");
    }
    return VerbsWorkCalls.first(words.get(index * WORDS + IMMEDIATE_AND_QUEUE_PAIR));
  }

  /**
   * How many bytes a read or the peer brought.
   *
   * @param index from 0
   * @return unsigned; counts only for reads and receives that were done
   * @throws IndexOutOfBoundsException if there is no such completion
   */
  public long byteCount(int index) {
    return Integer.toUnsignedLong(
        VerbsWorkCalls.second(words.get(at(index) + VENDOR_AND_BYTE_COUNT)));
  }

  /**
   * Which queue pair it came from.
   *
   * @param index from 0
   * @return the queue pair's number
   * @throws IndexOutOfBoundsException if there is no such completion
   */
  public int queuePairNumber(int index) {
    return VerbsWorkCalls.second(words.get(at(index) + IMMEDIATE_AND_QUEUE_PAIR));
  }

  /**
   * Why the request was not done.
   *
   * @param index from 0
   * @return an exception to throw or to look at; the cause of a flushed request's is the first real
   *     error of its queue pair
   * @throws IndexOutOfBoundsException if there is no such completion
   * @throws IllegalStateException if the request was done
   */
  public VerbsWorkException failure(int index) {
    if (isSuccess(index)) {
      throw new IllegalStateException("request " + workId(index) + " was done");
    }
    VerbsWorkException out = rawFailure(index);
    VerbsWorkException first = firstErrors[index];
    if (first != null) {
      out.initCause(first);
    }
    return out;
  }

  VerbsWorkException rawFailure(int index) {
    VerbsWorkStatus status = VerbsWorkStatus.of(status(index));
    return new VerbsWorkException(
        status,
        workId(index),
        VerbsWorkCalls.first(words.get(at(index) + VENDOR_AND_BYTE_COUNT)),
        queuePairNumber(index));
  }

  int status(int index) {
    return VerbsWorkCalls.first(words.get(index * WORDS + STATUS_AND_OPCODE));
  }

  long address() {
    return address;
  }

  int capacity() {
    return capacity;
  }

  void filled(int count) {
    filled(count, 0);
  }

  /** As {@link #filled(int)}, and so many from the first one on are known to be as they should. */
  void filled(int count, int inOrder) {
    size = count;
    run = inOrder;
    flawed = false;
    turns = Long.MAX_VALUE;
  }

  /** Has what another list has, from {@code from} on. */
  void copyOf(VerbsCompletions other, int from, int count) {
    buffer.put(0, other.buffer, from * COMPLETION_BYTES, count * COMPLETION_BYTES);
    filled(count);
    turns = other.turns;
  }

  void takenAfter(long queuePairs) {
    turns = queuePairs;
  }

  long turns() {
    return turns;
  }

  /** Takes some out; the number that is left. */
  int drop(int from, int to) {
    int bytes = (size - to) * COMPLETION_BYTES;
    byte[] tail = new byte[bytes];
    buffer.get(to * COMPLETION_BYTES, tail);
    buffer.put(from * COMPLETION_BYTES, tail);
    size -= to - from;
    run = Math.min(run, from);
    return size;
  }

  /** The id as the adapter has it, of a completion that is there. */
  long rawId(int index) {
    return words.get(index * WORDS + ID);
  }

  /** Writes an id as an adapter does. */
  void rawId(int index, long id) {
    words.put(index * WORDS + ID, id);
  }

  /**
   * How many from {@code from} on were done and have ids that count up from {@code first}; the
   * first other one ends it.
   */
  int countDone(int from, int to, long first, long step) {
    if (from == 0 && to <= run) {
      return rawId(0) == first ? to : 0;
    }
    LongBuffer in = words;
    long id = first;
    for (int at = from; at < to; at++) {
      if (in.get(at * WORDS + ID) != id
          || VerbsWorkCalls.first(in.get(at * WORDS + STATUS_AND_OPCODE))
              != VerbsWorkCalls.SUCCESS) {
        return at - from;
      }
      id += step;
    }
    return to - from;
  }

  /** Says which requests of their caller the completions from {@code index} on are about. */
  void name(int index, long[] ids, int at, int count) {
    System.arraycopy(ids, at, workIds, index, count);
  }

  /** Notes that a request was not done, and what failed before it; null if nothing did. */
  void failed(int index, VerbsWorkException first) {
    flawed = true;
    firstErrors[index] = first;
  }

  private int at(int index) {
    return Objects.checkIndex(index, size) * WORDS;
  }

  @Override
  public String toString() {
    return size + " completions";
  }
}
