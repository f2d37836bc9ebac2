package org.metrale.gpu.verbs;

import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import org.metrale.gpu.verbs.VerbsWorkCalls.Linked;

/**
 * Requests on their way to a queue, in one direct buffer that is used again and again: what batches
 * of both kinds of queues have in common. They lie there as libibverbs takes them, see {@code
 * metrale_ibv_linked} in metrale_ibv.h: each names the next one, and its own part of memory, which
 * is its last two words. Those links are written once.
 */
abstract class VerbsRequests {
  private static final int ID = Linked.ID;
  private static final int NEXT = Linked.NEXT;
  private static final int PARTS = Linked.PARTS;
  private static final int PART_WORDS = Linked.PART_WORDS;

  static final long MOST_BYTES = 0xFFFF_FFFFL;

  /**
   * The requests as they are filled: an array's bounds are looked at once for all words of a
   * request, a buffer's twice for each word, so that one copy before the post is cheaper.
   */
  final long[] words;

  private final ByteBuffer buffer;
  private final LongBuffer copy;
  private final long address;
  private final int capacity;
  private final int extraBytes;
  private final long[] workIds;

  /** Neighbouring requests of one region are a run; each with the place that it begins at. */
  private final VerbsMemoryRegion[] runRegions;

  private final int[] runStarts;
  private int firstRun;
  private int runs;

  /** The region of the last run; null if there is none, or it has none. */
  private VerbsMemoryRegion current;

  /** Requests before this one have been taken. */
  private int first;

  private int end;

  /**
   * Makes an empty one.
   *
   * @param extraBytes room for each request's own bytes, behind all requests
   */
  VerbsRequests(int capacity, int requestWords, int extraBytes) {
    if (capacity < 1) {
      throw new IllegalArgumentException("capacity: wanted 1 or more, got " + capacity);
    }
    this.capacity = capacity;
    this.extraBytes = extraBytes;
    this.words = new long[Math.multiplyExact(capacity, requestWords)];
    // One place more: what lies behind the last request, and how many a call has taken.
    this.buffer =
        VerbsWorkCalls.buffer(
            Math.addExact(
                Math.multiplyExact(capacity + 1, requestWords * Long.BYTES),
                Math.multiplyExact(capacity, extraBytes)));
    this.copy = buffer.asLongBuffer();
    this.address = VerbsWorkCalls.address(buffer);
    this.workIds = new long[capacity];
    this.runRegions = new VerbsMemoryRegion[capacity];
    this.runStarts = new int[capacity];
    for (int at = 0; at < words.length; at += requestWords) {
      long behind = address + (long) (at + requestWords) * Long.BYTES;
      words[at + NEXT] = behind;
      words[at + PARTS] = behind - PART_WORDS * Long.BYTES;
    }
  }

  /**
   * How many words a request has. A method, since a compiler makes a constant of it and of no
   * field, and counts with it for every request.
   */
  abstract int requestWords();

  /** Where the next request goes, among the words. */
  final int nextWord() {
    if (end == capacity) {
      throw new IllegalStateException("the batch is full with " + capacity + " requests");
    }
    return end * requestWords();
  }

  /** Where the last request is, among the words; one has to wait. */
  final int lastWord() {
    return (end - 1) * requestWords();
  }

  /**
   * As {@link #nextWord()}, for a request whose region has to stay open while it is in flight. This
   * is looked at first: what is at hand then is little, and a compiler need not put it away.
   */
  final int nextWord(VerbsMemoryRegion region) {
    int at = nextWord();
    if (current != region) {
      beginRun(region, end);
    }
    return at;
  }

  /** Takes the next request in, for the region that its place was asked for with. */
  final void accept(long workId) {
    workIds[end++] = workId;
  }

  /** Takes the next request in, for which nothing has to stay open. */
  final void acceptWithoutMemory(long workId) {
    if (current != null || runs == 0) {
      beginRun(null, end);
    }
    workIds[end++] = workId;
  }

  /** Begins a run in place of the one before it, if that got no request: it was refused. */
  private void beginRun(VerbsMemoryRegion region, int begin) {
    if (runs > 0 && runStarts[runs - 1] == begin) {
      runs--;
    }
    current = region;
    runRegions[runs] = region;
    runStarts[runs++] = begin;
  }

  /** Copies bytes to the room of the request that is taken in next; the address of that. */
  final long copyNext(ByteBuffer data, int bytes) {
    int at = (capacity + 1) * requestWords() * Long.BYTES + end * extraBytes;
    buffer.put(at, data, data.position(), bytes);
    data.position(data.position() + bytes);
    return address + at;
  }

  final int extraBytes() {
    return extraBytes;
  }

  /**
   * How many requests wait to be posted.
   *
   * @return 0 or more
   */
  public final int size() {
    return end - first;
  }

  /**
   * Whether nothing waits to be posted.
   *
   * @return true if it is empty
   */
  public final boolean isEmpty() {
    return end == first;
  }

  /**
   * How many more requests fit now; all of the capacity once it has been posted whole.
   *
   * @return 0 or more
   */
  public final int room() {
    return capacity - end;
  }

  /**
   * Whether nothing more fits.
   *
   * @return true if it is full
   */
  public final boolean isFull() {
    return end == capacity;
  }

  /** Forgets what waits. */
  public void clear() {
    first = 0;
    end = 0;
    firstRun = 0;
    runs = 0;
    current = null;
  }

  /**
   * Posts the next {@code count} as they were written out, with ids from {@code id} on; what the
   * library answers.
   */
  abstract int call(long pair, int count, long id);

  /** The library's name of that call. */
  abstract String callName();

  final int firstRun() {
    return firstRun;
  }

  /** Where a run ends, among the next {@code count} requests and counted from the first of them. */
  final int runEnd(int run, int count) {
    return run + 1 < runs ? Math.min(count, runStarts[run + 1] - first) : count;
  }

  /** What a run's requests keep open; null for nothing. */
  final VerbsMemoryRegion runRegion(int run) {
    return runRegions[run];
  }

  /** Where the next requests are once they are written out. */
  final long firstAddress() {
    return address + (long) first * requestWords() * Long.BYTES;
  }

  /** Where a post writes how many requests it has taken. */
  final long acceptedAddress() {
    int at = capacity * requestWords() * Long.BYTES;
    buffer.putInt(at, 0);
    return address + at;
  }

  final int accepted() {
    return buffer.getInt(capacity * requestWords() * Long.BYTES);
  }

  /**
   * Puts the next requests where a post reads, the links with them, since the post before has cut
   * the one of its last request.
   */
  final void writeOut(int count) {
    int step = requestWords();
    copy.put(first * step, words, first * step, count * step);
  }

  /** Gives one of the next requests an id, before it is written out. */
  final void identify(int next, long id) {
    words[(first + next) * requestWords() + ID] = id;
  }

  /** The caller's number of one of the next requests. */
  final long workId(int next) {
    return workIds[first + next];
  }

  /** Copies the callers' numbers of the next requests, from the {@code skip}-th on. */
  final void copyWorkIds(int skip, long[] to, int at, int count) {
    System.arraycopy(workIds, first + skip, to, at, count);
  }

  /** Drops the first requests, which the queue pair has taken. */
  final void taken(int count) {
    first += count;
    while (firstRun + 1 < runs && runStarts[firstRun + 1] <= first) {
      firstRun++;
    }
    if (first == end) {
      clear();
    }
  }
}
