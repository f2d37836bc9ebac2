package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
final class CallLockTest {
  private static final long SHORT_NANOS = 1_000_000;
  private static final long LONG_NANOS = 50_000_000_000L;

  private final CallLock lock = new CallLock();
  private long count;

  @Test
  void oneThreadAtATimeIsInside() throws InterruptedException {
    int each = 50_000;
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      Thread thread =
          new Thread(
              () -> {
                for (int j = 0; j < each; j++) {
                  lock.enter();
                  count++;
                  lock.leave();
                }
              });
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
    assertEquals(4 * each, count);
  }

  @Test
  void nobodyEntersAfterTheClose() {
    assertTrue(lock.enter());
    lock.leave();
    assertTrue(lock.close(0));
    assertFalse(lock.enter());
    assertTrue(lock.close(0));
    assertTrue(lock.awaitFree(0));
  }

  @Test
  void aCloseGivesUpWhileACallIsInsideAndChangesNothing() {
    assertTrue(lock.enter());
    assertFalse(lock.awaitFree(SHORT_NANOS));
    assertFalse(lock.close(SHORT_NANOS));
    lock.leave();
    assertTrue(lock.enter());
    lock.leave();
  }

  @Test
  void aCloseWaitsForTheCallAndEndsThoseThatWaitBehindIt() throws InterruptedException {
    assertTrue(lock.enter());
    CountDownLatch closing = new CountDownLatch(1);
    boolean[] closed = new boolean[1];
    Thread closer =
        new Thread(
            () -> {
              closing.countDown();
              closed[0] = lock.awaitFree(LONG_NANOS) && lock.close(LONG_NANOS);
            });
    closer.start();
    closing.await();
    lock.leave();
    closer.join();
    assertTrue(closed[0]);
    boolean[] entered = {true};
    Thread late = new Thread(() -> entered[0] = lock.enter());
    late.start();
    late.join();
    assertFalse(entered[0]);
  }
}
