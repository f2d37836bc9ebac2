package org.metrale.gpu.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** How a large transfer is shared: by how many threads, and in which parts. */
class TaskPoolTest {
  private static final int TASK = 64 << 10;
  private static final int THREADS = 3;

  private final TaskPool pool = new TaskPool(CuFileOptions.defaults().withThreads(THREADS, TASK));

  @AfterEach
  void close() {
    pool.close();
  }

  @Test
  void asManyThreadsAsAskedForMovePartsAtTheSameTime() {
    // Nobody goes on before all of them are there, each with a part of its own.
    CyclicBarrier together = new CyclicBarrier(THREADS);
    Set<Thread> threads = ConcurrentHashMap.newKeySet();
    long moved =
        pool.share(
            2L * THREADS * TASK,
            0,
            (done, length) -> {
              threads.add(Thread.currentThread());
              await(together);
              return length;
            });
    assertEquals(2L * THREADS * TASK, moved);
    assertEquals(THREADS, threads.size());
    assertTrue(threads.contains(Thread.currentThread()), "the caller works too");
  }

  @Test
  void partsCoverTheWholeOnceAndBeginAtMultiplesOfTheTaskSizeInTheFile() {
    Map<Long, Long> parts = new ConcurrentSkipListMap<>();
    long offset = 5 * TASK + 4096;
    long length = 3 * TASK + 100;
    assertEquals(
        length,
        pool.share(
            length,
            offset,
            (done, partLength) -> {
              parts.put(done, partLength);
              return partLength;
            }));
    Map<Long, Long> expected = new TreeMap<>();
    expected.put(0L, TASK - 4096L);
    expected.put(TASK - 4096L, (long) TASK);
    expected.put(2L * TASK - 4096, (long) TASK);
    expected.put(3L * TASK - 4096, 4196L);
    assertEquals(expected, parts);
  }

  @Test
  void whatComesAfterAPartThatIsCutShortDoesNotCount() {
    assertEquals(
        TASK + 7,
        pool.share(4L * TASK, 0, (done, length) -> done == TASK ? 7 : length),
        "the file ends in the second part");
    assertEquals(-5, pool.share(4L * TASK, 0, (done, length) -> done == 0 ? -5 : length));
  }

  @Test
  void anExceptionInOnePartEndsTheOthers() {
    AtomicInteger begun = new AtomicInteger();
    IllegalStateException thrown =
        assertThrows(
            IllegalStateException.class,
            () ->
                pool.share(
                    1000L * TASK,
                    0,
                    (done, length) -> {
                      begun.incrementAndGet();
                      throw new IllegalStateException("no more");
                    }));
    assertEquals("no more", thrown.getMessage());
    assertTrue(begun.get() <= THREADS, begun + " parts were begun");
  }

  @Test
  void aTransferOfOneTaskIsNotShared() {
    assertFalse(pool.isShared(TASK));
    assertTrue(pool.isShared(TASK + 1));
  }

  private static void await(CyclicBarrier barrier) {
    try {
      barrier.await(60, TimeUnit.SECONDS);
    } catch (InterruptedException | BrokenBarrierException | TimeoutException e) {
      throw new IllegalStateException(e);
    }
  }
}
