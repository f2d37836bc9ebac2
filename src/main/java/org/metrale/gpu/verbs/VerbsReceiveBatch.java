package org.metrale.gpu.verbs;

import java.util.Objects;
import org.metrale.gpu.verbs.VerbsWorkCalls.Linked;

/**
 * Receive requests on their way to a queue pair, or to a queue that several of them share: room for
 * what a peer sends. Each is used for one message of a peer, or for one of its writes with
 * immediate data, in the order in which they were posted.
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
 *   0       8      16     24      32           40     44   48
 *   +-------+------+------+-------+------------+------+----+
 *   | wr id | next | part | parts | local addr | len. |lkey|
 *   +-------+------+------+-------+------------+------+----+
 * </pre>
 */
public final class VerbsReceiveBatch extends VerbsRequests {
  private static final int WORDS = Linked.RECEIVE_WORDS;
  private static final int PART_COUNT = Linked.PART_COUNT;
  private static final int LOCAL_ADDRESS = Linked.RECEIVE_PART;
  private static final int LENGTH_AND_LKEY = LOCAL_ADDRESS + 1;
  private static final long ONE_PART = VerbsWorkCalls.pair(1, 0);

  private VerbsReceiveBatch(int capacity) {
    super(capacity, WORDS, 0);
  }

  /**
   * Makes an empty batch.
   *
   * @param capacity how many requests fit, from 1
   * @return the batch
   * @throws IllegalArgumentException if {@code capacity} is below 1
   */
  public static VerbsReceiveBatch allocate(int capacity) {
    return new VerbsReceiveBatch(capacity);
  }

  /**
   * Adds room for a message of at most so many bytes. A longer one fails at both ends. Data of a
   * write with immediate data goes where the write says, and leaves this memory as it is.
   *
   * @param workId the caller's number for it
   * @param region the memory that a message goes to, registered for local write
   * @param offset where in the region, in bytes
   * @param lengthBytes how long a message may be, from 1 to 2^32-1
   * @throws IndexOutOfBoundsException if the range is not inside the region
   * @throws IllegalStateException if the batch is full
   */
  public void receive(long workId, VerbsMemoryRegion region, long offset, long lengthBytes) {
    int at = nextWord(region);
    Objects.checkFromIndexSize(offset, lengthBytes, region.lengthBytes());
    if (lengthBytes <= 0 || lengthBytes > MOST_BYTES) {
      throw new IllegalArgumentException("lengthBytes: wanted 1 to 2^32-1, got " + lengthBytes);
    }
    accept(workId);
    words[at + PART_COUNT] = ONE_PART;
    words[at + LOCAL_ADDRESS] = region.address() + offset;
    words[at + LENGTH_AND_LKEY] = VerbsWorkCalls.pair((int) lengthBytes, region.lkey());
  }

  /**
   * Adds a request without memory: for a message without bytes, or a write with immediate data.
   *
   * @param workId the caller's number for it
   * @throws IllegalStateException if the batch is full
   */
  public void receive(long workId) {
    int at = nextWord();
    acceptWithoutMemory(workId);
    words[at + PART_COUNT] = 0;
  }

  @Override
  int requestWords() {
    return WORDS;
  }

  @Override
  int call(long pair, int count, long id) {
    return VerbsWorkCalls.postReceives(pair, firstAddress(), count, id, acceptedAddress());
  }

  /** Posts the next {@code count}, which have their ids, to a shared receive queue. */
  int callShared(long queue, int count) {
    return VerbsWorkCalls.postSharedReceives(queue, firstAddress(), count, acceptedAddress());
  }

  @Override
  String callName() {
    return "ibv_post_recv";
  }

  @Override
  public String toString() {
    return size() + " receive requests";
  }
}
