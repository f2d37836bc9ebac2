package org.metrale.gpu.verbs;

import java.nio.ByteBuffer;
import java.util.Objects;
import org.metrale.gpu.verbs.VerbsWorkCalls.Linked;

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
 *   0       8      16     24    28     32    36   40            48     56    64   72           80     84   88
 *   +-------+------+------+-----+------+-----+----+-------------+------+-----+----+------------+------+----+
 *   | wr id | next | part |parts|opcode|flags|imm | remote addr | rkey |     |    | local addr | len. |lkey|
 *   |       |      |      |     |      |     |    |             | comp.|swap |rkey|            |      |    |
 *   +-------+------+------+-----+------+-----+----+-------------+------+-----+----+------------+------+----+
 * </pre>
 *
 * <p>The atomic operations have the lower of what stands at one place.
 */
public final class VerbsWorkBatch extends VerbsRequests {
  private static final int WORDS = Linked.SEND_WORDS;
  private static final int PART_COUNT_AND_OPCODE = Linked.PART_COUNT;
  private static final int FLAGS_AND_IMMEDIATE = Linked.FLAGS;
  private static final int REMOTE_ADDRESS = Linked.REMOTE_ADDRESS;
  private static final int RKEY = Linked.RKEY;
  private static final int COMPARE_OR_ADD = Linked.COMPARE_OR_ADD;
  private static final int SWAP = Linked.SWAP;
  private static final int ATOMIC_RKEY = Linked.ATOMIC_RKEY;
  private static final int LOCAL_ADDRESS = Linked.SEND_PART;
  private static final int LENGTH_AND_LKEY = LOCAL_ADDRESS + 1;

  private static final long SIGNALED = VerbsWorkCalls.pair(VerbsWorkCalls.SIGNALED, 0);
  private static final int SIGNALED_INLINE = VerbsWorkCalls.SIGNALED | VerbsWorkCalls.INLINE;

  /** Requests from this word on have the usual flags, which nobody writes again. */
  private int marked;

  private long longest;
  private int longestInline;

  private VerbsWorkBatch(int capacity, int inlineBytes) {
    super(capacity, WORDS, inlineBytes);
    marked = words.length;
    clear();
  }

  /**
   * Makes an empty batch without room for inline data.
   *
   * @param capacity how many requests fit, from 1
   * @return the batch
   * @throws IllegalArgumentException if {@code capacity} is below 1
   */
  public static VerbsWorkBatch allocate(int capacity) {
    return new VerbsWorkBatch(capacity, 0);
  }

  /**
   * Makes an empty batch.
   *
   * @param capacity how many requests fit, from 1
   * @param inlineBytes how many bytes each may have inline; what a queue pair takes is {@link
   *     VerbsQueuePair#maxInlineBytes()}
   * @return the batch
   * @throws IllegalArgumentException if {@code capacity} is below 1 or {@code inlineBytes} not from
   *     0 to {@value VerbsQueueSettings#MOST_INLINE_BYTES}
   */
  public static VerbsWorkBatch allocate(int capacity, int inlineBytes) {
    return new VerbsWorkBatch(capacity, VerbsQueueSettings.requireInline(inlineBytes));
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
   * Adds a write: bytes go to the peer's memory.
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
   * Adds a message: bytes go to the memory of the peer's next receive request. Without one the
   * message is tried again, as often as the path says: {@link VerbsPath#rnrRetryCount()}.
   *
   * @param workId the caller's number for it
   * @param region the memory that they come from
   * @param offset where in the region, in bytes
   * @param lengthBytes how many, from 1; not more than the peer's request has room for, else both
   *     ends fail
   * @throws IndexOutOfBoundsException if the range is not inside the region
   * @throws IllegalStateException if the batch is full
   */
  public void send(long workId, VerbsMemoryRegion region, long offset, long lengthBytes) {
    add(workId, region, offset, lengthBytes, 0, 0, VerbsWorkCalls.SEND);
  }

  /**
   * Adds a message whose bytes are copied here: they need no region, and the caller's memory is
   * free at once. As {@link #send} else.
   *
   * @param workId the caller's number for it
   * @param data the bytes, which are taken out of it; none is a message without bytes
   * @throws IllegalArgumentException if they are more than this batch has room for in a request
   * @throws IllegalStateException if the batch is full
   */
  public void sendInline(long workId, ByteBuffer data) {
    addInline(workId, data, 0, 0, VerbsWorkCalls.SEND);
  }

  /**
   * Adds a write whose bytes are copied here: they need no region, and the caller's memory is free
   * at once.
   *
   * @param workId the caller's number for it
   * @param data the bytes, which are taken out of it; none is a write that changes nothing
   * @param remoteAddress where they go in the peer's memory
   * @param rkey the key to it
   * @throws IllegalArgumentException if they are more than this batch has room for in a request
   * @throws IllegalStateException if the batch is full
   */
  public void writeInline(long workId, ByteBuffer data, long remoteAddress, int rkey) {
    addInline(workId, data, remoteAddress, rkey, VerbsWorkCalls.WRITE);
  }

  /**
   * Gives the message or write that was added last a number that the peer finds with its
   * completion: {@link VerbsCompletions#immediate}. For a write too the peer needs a receive
   * request then.
   *
   * @param value 32 bits, the same at both ends whatever their byte order
   * @throws IllegalStateException if nothing waits, or what was added last is no message or write
   */
  public void immediate(int value) {
    int at = isEmpty() ? -1 : lastWord();
    int opcode = at < 0 ? -1 : VerbsWorkCalls.second(words[at + PART_COUNT_AND_OPCODE]);
    int with = VerbsWorkCalls.withImmediate(opcode);
    if (with < 0) {
      throw new IllegalStateException("the last of " + this + " is no message or write");
    }
    int parts = VerbsWorkCalls.first(words[at + PART_COUNT_AND_OPCODE]);
    int flags = VerbsWorkCalls.first(words[at + FLAGS_AND_IMMEDIATE]);
    words[at + PART_COUNT_AND_OPCODE] = VerbsWorkCalls.pair(parts, with);
    mark(at, VerbsWorkCalls.pair(flags, VerbsWorkCalls.networkOrder(value)));
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
    int at = addAtomic(workId, region, offset, remoteAddress, rkey, VerbsWorkCalls.FETCH_AND_ADD);
    words[at + COMPARE_OR_ADD] = addend;
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
    int at =
        addAtomic(workId, region, offset, remoteAddress, rkey, VerbsWorkCalls.COMPARE_AND_SWAP);
    words[at + COMPARE_OR_ADD] = expected;
    words[at + SWAP] = replacement;
  }

  /** Adds one but for its numbers; where it is, among the words. */
  private int addAtomic(
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
    int at = lastWord();
    words[at + ATOMIC_RKEY] = VerbsWorkCalls.pair(rkey, 0);
    return at;
  }

  private void add(
      long workId,
      VerbsMemoryRegion region,
      long offset,
      long lengthBytes,
      long remoteAddress,
      int rkey,
      int opcode) {
    int at = nextWord(region);
    Objects.checkFromIndexSize(offset, lengthBytes, region.lengthBytes());
    if (lengthBytes <= 0 || lengthBytes > MOST_BYTES) {
      throw new IllegalArgumentException("lengthBytes: wanted 1 to 2^32-1, got " + lengthBytes);
    }
    if (lengthBytes > longest) {
      longest = lengthBytes;
    }
    accept(workId);
    long[] to = words;
    to[at + PART_COUNT_AND_OPCODE] = VerbsWorkCalls.pair(1, opcode);
    to[at + REMOTE_ADDRESS] = remoteAddress;
    to[at + RKEY] = VerbsWorkCalls.pair(rkey, 0);
    to[at + LOCAL_ADDRESS] = region.address() + offset;
    to[at + LENGTH_AND_LKEY] = VerbsWorkCalls.pair((int) lengthBytes, region.lkey());
  }

  private void addInline(long workId, ByteBuffer data, long remoteAddress, int rkey, int opcode) {
    int at = nextWord();
    int bytes = data.remaining();
    if (bytes > extraBytes()) {
      throw new IllegalArgumentException(
          bytes + " bytes inline; this batch has room for " + extraBytes() + " in a request");
    }
    long local = copyNext(data, bytes);
    longest = Math.max(longest, bytes);
    longestInline = Math.max(longestInline, bytes);
    acceptWithoutMemory(workId);
    long[] to = words;
    // A part of no bytes would mean 2 GiB to some adapters.
    to[at + PART_COUNT_AND_OPCODE] = VerbsWorkCalls.pair(bytes > 0 ? 1 : 0, opcode);
    to[at + REMOTE_ADDRESS] = remoteAddress;
    to[at + RKEY] = VerbsWorkCalls.pair(rkey, 0);
    to[at + LOCAL_ADDRESS] = local;
    to[at + LENGTH_AND_LKEY] = VerbsWorkCalls.pair(bytes, 0);
    // Without bytes there is nothing to copy, and a queue pair without inline data takes it too.
    if (bytes > 0) {
      mark(at, VerbsWorkCalls.pair(SIGNALED_INLINE, 0));
    }
  }

  private void mark(int at, long flagsAndImmediate) {
    words[at + FLAGS_AND_IMMEDIATE] = flagsAndImmediate;
    marked = at + WORDS;
  }

  @Override
  public void clear() {
    super.clear();
    for (int at = FLAGS_AND_IMMEDIATE; at < marked; at += WORDS) {
      words[at] = SIGNALED;
    }
    marked = 0;
    longest = 0;
    longestInline = 0;
  }

  long longestBytes() {
    return longest;
  }

  int longestInlineBytes() {
    return longestInline;
  }

  @Override
  int requestWords() {
    return WORDS;
  }

  @Override
  int call(long pair, int count, long id) {
    return VerbsWorkCalls.post(pair, firstAddress(), count, id, acceptedAddress());
  }

  @Override
  String callName() {
    return "ibv_post_send";
  }

  @Override
  public String toString() {
    return size() + " work requests";
  }
}
