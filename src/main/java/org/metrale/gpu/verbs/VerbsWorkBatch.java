package org.metrale.gpu.verbs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
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

  private static final int ID = 0;
  private static final int LOCAL_ADDRESS = 8;
  private static final int REMOTE_ADDRESS = 16;
  private static final int LENGTH_AND_LKEY = 40;
  private static final int RKEY_AND_OPCODE = 48;
  private static final int FLAGS_AND_IMMEDIATE = 56;

  private static final boolean LITTLE = ByteOrder.nativeOrder().equals(ByteOrder.LITTLE_ENDIAN);

  private final ByteBuffer buffer;
  private final long address;
  private final int capacity;
  private final long[] workIds;
  private final VerbsMemoryRegion[] regions;

  /** Requests before this one have been taken. */
  private int first;

  private int end;
  private long longest;

  private VerbsWorkBatch(int capacity) {
    // One place more, for the number of requests that a call has taken.
    this.buffer = VerbsWorkCalls.buffer(Math.multiplyExact(capacity + 1, REQUEST_BYTES));
    this.address = VerbsWorkCalls.address(buffer);
    this.capacity = capacity;
    this.workIds = new long[capacity];
    this.regions = new VerbsMemoryRegion[capacity];
    for (int i = 0; i < capacity; i++) {
      buffer.putLong(i * REQUEST_BYTES + FLAGS_AND_IMMEDIATE, pair(VerbsWorkCalls.SIGNALED, 0));
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

  private void add(
      long workId,
      VerbsMemoryRegion region,
      long offset,
      long lengthBytes,
      long remoteAddress,
      int rkey,
      int opcode) {
    if (end == capacity) {
      throw new IllegalStateException("the batch is full with " + capacity + " requests");
    }
    Objects.checkFromIndexSize(offset, lengthBytes, region.lengthBytes());
    if (lengthBytes <= 0 || lengthBytes > Integer.toUnsignedLong(-1)) {
      throw new IllegalArgumentException("lengthBytes: wanted 1 to 2^32-1, got " + lengthBytes);
    }
    int at = end * REQUEST_BYTES;
    buffer.putLong(at + LOCAL_ADDRESS, region.address() + offset);
    buffer.putLong(at + REMOTE_ADDRESS, remoteAddress);
    buffer.putLong(at + LENGTH_AND_LKEY, pair((int) lengthBytes, region.lkey()));
    buffer.putLong(at + RKEY_AND_OPCODE, pair(rkey, opcode));
    workIds[end] = workId;
    if (regions[end] != region) {
      regions[end] = region;
    }
    longest = Math.max(longest, lengthBytes);
    end++;
  }

  /** Two neighbouring 32-bit fields as one store. */
  private static long pair(int low, int high) {
    return LITTLE
        ? (low & 0xFFFF_FFFFL) | ((long) high << 32)
        : (high & 0xFFFF_FFFFL) | ((long) low << 32);
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
  }

  int first() {
    return first;
  }

  long longestBytes() {
    return longest;
  }

  long workId(int index) {
    return workIds[index];
  }

  VerbsMemoryRegion region(int index) {
    return regions[index];
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

  void number(int index, long id) {
    buffer.putLong(index * REQUEST_BYTES + ID, id);
  }

  /** Drops the first requests, which the queue pair has taken. */
  void taken(int count) {
    first += count;
    if (first == end) {
      clear();
    }
  }

  @Override
  public String toString() {
    return size() + " work requests";
  }
}
