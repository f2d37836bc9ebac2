package org.metrale.gpu.verbs;

import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.util.Objects;

/**
 * Work requests on their way to a queue pair, in one direct buffer that is used again and again.
 *
 * <p>A batch is filled, posted (perhaps in parts, when the queue is full) and is then empty again.
 * Nothing is allocated after it was made.
 *
 * <p><b>Ownership:</b> what is in it is not in flight: a region may be closed before it is posted,
 * and the post says so then.
 *
 * <p><b>Threading:</b> one thread at a time.
 *
 * <pre>
 *   0       8            16            24       32    40     44   48   52     56    60   64
 *   +-------+------------+-------------+--------+-----+------+----+----+------+-----+----+
 *   | wr id | local addr | remote addr | comp.  | sw. | len. |lkey|rkey|opcode|flags|imm |
 *   +-------+------------+-------------+--------+-----+------+----+----+------+-----+----+
 * </pre>
 */
public final class VerbsWorkBatch {
  /** Bytes of one request in the buffer. */
  static final int REQUEST_BYTES = 64;

  // In words of 8 bytes.
  private static final int WORDS = REQUEST_BYTES / Long.BYTES;
  private static final int ID = 0;
  private static final int LOCAL_ADDRESS = 1;
  private static final int REMOTE_ADDRESS = 2;
  private static final int COMPARE_OR_ADD = 3;
  private static final int SWAP = 4;
  private static final int LENGTH_AND_LKEY = 5;
  private static final int RKEY_AND_OPCODE = 6;
  private static final int FLAGS_AND_IMMEDIATE = 7;

  private static final long MOST_BYTES = 0xFFFF_FFFFL;

  /**
   * The requests as they are filled: an array's bounds are looked at once for all words of a
   * request, a buffer's twice for each word, so that one copy before the post is cheaper.
   */
  private final long[] words;

  private final ByteBuffer buffer;
  private final LongBuffer copy;
  private final long address;
  private final int capacity;
  private final long[] workIds;

  /** Neighbouring requests of one region are a run; each with the place that it begins at. */
  private final VerbsMemoryRegion[] runRegions;

  private final int[] runStarts;
  private int firstRun;
  private int runs;

  /** The region of the last run; null if there is none. */
  private VerbsMemoryRegion current;

  /** Requests before this one have been taken. */
  private int first;

  private int end;
  private long longest;

  private VerbsWorkBatch(int capacity) {
    // One place more, for the number of requests that a call has taken.
    this.buffer = VerbsWorkCalls.buffer(Math.multiplyExact(capacity + 1, REQUEST_BYTES));
    this.copy = buffer.asLongBuffer();
    this.address = VerbsWorkCalls.address(buffer);
    this.capacity = capacity;
    this.words = new long[Math.multiplyExact(capacity, WORDS)];
    this.workIds = new long[capacity];
    this.runRegions = new VerbsMemoryRegion[capacity];
    this.runStarts = new int[capacity];
    for (int i = 0; i < capacity; i++) {
      words[i * WORDS + FLAGS_AND_IMMEDIATE] = VerbsWorkCalls.pair(VerbsWorkCalls.SIGNALED, 0);
    }
  }

  /**
   * Makes an empty batch.
   *
   * @param capacity how many requests fit, from 1
   * @return the batch
   * @throws IllegalArgumentException if {@code capacity} is below 1
   */
  public static VerbsWorkBatch allocate(int capacity) {
    if (capacity < 1) {
      throw new IllegalArgumentException("capacity: wanted 1 or more, got " + capacity);
    }
    return new VerbsWorkBatch(capacity);
  }

  /**
   * Adds a read: bytes come from the peer.
   *
   * @param workId the caller's number for it
   * @param region the memory that they go to, registered for local write
   * @param offset where in the region, in bytes
   * @param lengthBytes how many, from 1
   * @param remoteAddress where they are in the peer's memory
   * @param rkey the key to it
   * @throws IndexOutOfBoundsException if the range is not inside the region
   * @throws IllegalStateException if the batch is full
   */
  public void read(
      long workId,
      VerbsMemoryRegion region,
      long offset,
      long lengthBytes,
      long remoteAddress,
      int rkey) {
    add(workId, region, offset, lengthBytes, remoteAddress, rkey, VerbsWorkCalls.READ);
  }

  /**
   * Adds a write: bytes go to the peer.
   *
   * @param workId the caller's number for it
   * @param region the memory that they come from
   * @param offset where in the region, in bytes
   * @param lengthBytes how many, from 1
   * @param remoteAddress where they go in the peer's memory
   * @param rkey the key to it
   * @throws IndexOutOfBoundsException if the range is not inside the region
   * @throws IllegalStateException if the batch is full
   */
  public void write(
      long workId,
      VerbsMemoryRegion region,
      long offset,
      long lengthBytes,
      long remoteAddress,
      int rkey) {
    add(workId, region, offset, lengthBytes, remoteAddress, rkey, VerbsWorkCalls.WRITE);
  }

  /**
   * Adds a number to eight bytes of the peer's memory in one step; what was there before comes
   * here. The peer's memory and queue pair need {@link VerbsAccess#REMOTE_ATOMIC}. Both ends have
   * the number in the byte order of their processors.
   *
   * @param workId the caller's number of the request
   * @param region where the old number goes; registered for local write
   * @param offset where in it, in bytes; eight are used
   * @param remoteAddress where the number is; a multiple of eight
   * @param rkey the peer's key
   * @param addend what is added
   * @throws IndexOutOfBoundsException if the range is not inside the region
   * @throws IllegalArgumentException if the address is not a multiple of eight
   * @throws IllegalStateException if the batch is full
   */
  public void fetchAndAdd(
      long workId,
      VerbsMemoryRegion region,
      long offset,
      long remoteAddress,
      int rkey,
      long addend) {
    addAtomic(workId, region, offset, remoteAddress, rkey, VerbsWorkCalls.FETCH_AND_ADD);
    words[(end - 1) * WORDS + COMPARE_OR_ADD] = addend;
  }

  /**
   * Replaces eight bytes of the peer's memory in one step if they are as expected; what was there
   * before comes here, and tells whether they were. As {@link #fetchAndAdd} else.
   *
   * @param workId the caller's number of the request
   * @param region where the old number goes; registered for local write
   * @param offset where in it, in bytes; eight are used
   * @param remoteAddress where the number is; a multiple of eight
   * @param rkey the peer's key
   * @param expected what has to be there
   * @param replacement what is there then
   * @throws IndexOutOfBoundsException if the range is not inside the region
   * @throws IllegalArgumentException if the address is not a multiple of eight
   * @throws IllegalStateException if the batch is full
   */
  public void compareAndSwap(
      long workId,
      VerbsMemoryRegion region,
      long offset,
      long remoteAddress,
      int rkey,
      long expected,
      long replacement) {
    addAtomic(workId, region, offset, remoteAddress, rkey, VerbsWorkCalls.COMPARE_AND_SWAP);
    words[(end - 1) * WORDS + COMPARE_OR_ADD] = expected;
    words[(end - 1) * WORDS + SWAP] = replacement;
  }

  private void addAtomic(
      long workId,
      VerbsMemoryRegion region,
      long offset,
      long remoteAddress,
      int rkey,
      int opcode) {
    if (remoteAddress % Long.BYTES != 0) {
      throw new IllegalArgumentException(
          "remoteAddress: wanted a multiple of 8, got 0x" + Long.toHexString(remoteAddress));
    }
    add(workId, region, offset, Long.BYTES, remoteAddress, rkey, opcode);
  }

  private void add(
      long workId,
      VerbsMemoryRegion region,
      long offset,
      long lengthBytes,
      long remoteAddress,
      int rkey,
      int opcode) {
    int index = end;
    if (index == capacity) {
      throw new IllegalStateException("the batch is full with " + capacity + " requests");
    }
    Objects.checkFromIndexSize(offset, lengthBytes, region.lengthBytes());
    if (lengthBytes <= 0 || lengthBytes > MOST_BYTES) {
      throw new IllegalArgumentException("lengthBytes: wanted 1 to 2^32-1, got " + lengthBytes);
    }
    if (current != region) {
      beginRun(region);
    }
    if (lengthBytes > longest) {
      longest = lengthBytes;
    }
    end = index + 1;
    workIds[index] = workId;
    long[] to = words;
    int at = index * WORDS;
    to[at + LOCAL_ADDRESS] = region.address() + offset;
    to[at + REMOTE_ADDRESS] = remoteAddress;
    to[at + LENGTH_AND_LKEY] = VerbsWorkCalls.pair((int) lengthBytes, region.lkey());
    to[at + RKEY_AND_OPCODE] = VerbsWorkCalls.pair(rkey, opcode);
  }

  private void beginRun(VerbsMemoryRegion region) {
    current = region;
    runRegions[runs] = region;
    runStarts[runs++] = end;
  }

  /**
   * How many requests wait to be posted.
   *
   * @return 0 or more
   */
  public int size() {
    return end - first;
  }

  /**
   * Whether nothing waits to be posted.
   *
   * @return true if it is empty
   */
  public boolean isEmpty() {
    return end == first;
  }

  /**
   * How many more requests fit now; all of the capacity once it has been posted whole.
   *
   * @return 0 or more
   */
  public int room() {
    return capacity - end;
  }

  /**
   * Whether nothing more fits.
   *
   * @return true if it is full
   */
  public boolean isFull() {
    return end == capacity;
  }

  /** Forgets what waits. */
  public void clear() {
    first = 0;
    end = 0;
    longest = 0;
    firstRun = 0;
    runs = 0;
    current = null;
  }

  int first() {
    return first;
  }

  long longestBytes() {
    return longest;
  }

  int firstRun() {
    return firstRun;
  }

  /** Where a run ends, among the next {@code count} requests and counted from the first of them. */
  int runEnd(int run, int count) {
    return run + 1 < runs ? Math.min(count, runStarts[run + 1] - first) : count;
  }

  VerbsMemoryRegion runRegion(int run) {
    return runRegions[run];
  }

  long addressOf(int index) {
    return address + (long) index * REQUEST_BYTES;
  }

  /** Where a post writes how many requests it has taken. */
  long acceptedAddress() {
    buffer.putInt(capacity * REQUEST_BYTES, 0);
    return addressOf(capacity);
  }

  int accepted() {
    return buffer.getInt(capacity * REQUEST_BYTES);
  }

  /** Gives the next requests their ids, from {@code id} on, and puts them where a post reads. */
  void writeOut(int count, long id) {
    long[] to = words;
    int from = first * WORDS;
    int until = from + count * WORDS;
    long next = id;
    for (int at = from; at < until; at += WORDS) {
      to[at + ID] = next;
      next += WorkLedger.STEP;
    }
    copy.put(from, to, from, until - from);
  }

  /** Copies the callers' numbers of the next requests, from the {@code skip}-th on. */
  void copyWorkIds(int skip, long[] to, int at, int count) {
    System.arraycopy(workIds, first + skip, to, at, count);
  }

  /** Drops the first requests, which the queue pair has taken. */
  void taken(int count) {
    first += count;
    while (firstRun + 1 < runs && runStarts[firstRun + 1] <= first) {
      firstRun++;
    }
    if (first == end) {
      clear();
    }
  }

  @Override
  public String toString() {
    return size() + " work requests";
  }
}
