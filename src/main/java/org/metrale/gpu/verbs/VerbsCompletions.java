package org.metrale.gpu.verbs;

import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * Completions as they were taken off a queue, in one direct buffer that is used again and again.
 *
 * <p><b>Threading:</b> one thread at a time.
 */
public final class VerbsCompletions {
  private static final int COMPLETION_BYTES = 48;
  private static final int ID = 0;
  private static final int STATUS = 8;
  private static final int VENDOR = 16;
  private static final int BYTE_COUNT = 20;
  private static final int QUEUE_PAIR = 28;

  private final ByteBuffer buffer;
  private final long address;
  private final int capacity;
  private final VerbsWorkException[] firstErrors;
  private int size;

  private VerbsCompletions(int capacity) {
    this.buffer = VerbsWorkCalls.buffer(Math.multiplyExact(capacity, COMPLETION_BYTES));
    this.address = VerbsWorkCalls.address(buffer);
    this.capacity = capacity;
    this.firstErrors = new VerbsWorkException[capacity];
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
    return buffer.getLong(at(index) + ID);
  }

  /**
   * Whether the request was done.
   *
   * @param index from 0
   * @return false if {@link #failure} has something to tell
   * @throws IndexOutOfBoundsException if there is no such completion
   */
  public boolean isSuccess(int index) {
    return buffer.getInt(at(index) + STATUS) == VerbsWorkCalls.SUCCESS;
  }

  /**
   * How many bytes a read brought.
   *
   * @param index from 0
   * @return unsigned; counts only for reads that were done
   * @throws IndexOutOfBoundsException if there is no such completion
   */
  public long byteCount(int index) {
    return Integer.toUnsignedLong(buffer.getInt(at(index) + BYTE_COUNT));
  }

  /**
   * Which queue pair it came from.
   *
   * @param index from 0
   * @return the queue pair's number
   * @throws IndexOutOfBoundsException if there is no such completion
   */
  public int queuePairNumber(int index) {
    return buffer.getInt(at(index) + QUEUE_PAIR);
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
    if (first != null && first.workId() != out.workId()) {
      out.initCause(first);
    }
    return out;
  }

  VerbsWorkException rawFailure(int index) {
    VerbsWorkStatus status = VerbsWorkStatus.of(status(index));
    return new VerbsWorkException(
        status, workId(index), buffer.getInt(at(index) + VENDOR), queuePairNumber(index));
  }

  int status(int index) {
    return buffer.getInt(index * COMPLETION_BYTES + STATUS);
  }

  long address() {
    return address;
  }

  int capacity() {
    return capacity;
  }

  void filled(int count) {
    size = count;
  }

  /** Takes some out; the number that is left. */
  int drop(int from, int to) {
    int bytes = (size - to) * COMPLETION_BYTES;
    byte[] tail = new byte[bytes];
    buffer.get(to * COMPLETION_BYTES, tail);
    buffer.put(from * COMPLETION_BYTES, tail);
    size -= to - from;
    return size;
  }

  /** The id as the adapter has it, of a completion that is there. */
  long rawId(int index) {
    return buffer.getLong(index * COMPLETION_BYTES + ID);
  }

  void rename(int index, long workId) {
    buffer.putLong(index * COMPLETION_BYTES + ID, workId);
  }

  void firstError(int index, VerbsWorkException error) {
    firstErrors[index] = error;
  }

  private int at(int index) {
    return Objects.checkIndex(index, size) * COMPLETION_BYTES;
  }

  @Override
  public String toString() {
    return size + " completions";
  }
}
