package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The look at steps that do not come to an end. */
@Timeout(60)
final class StepWatchTest {
  /** There may be no thread for those who are told, and one a moment later. */
  @Test
  void looksAgainAfterALookThatFailed() throws Exception {
    CountDownLatch looks = new CountDownLatch(3);
    StepWatch watch =
        new StepWatch(
            new StepWatch.Watched() {
              @Override
              public void stuck(IllegalStateException why) {
                looks.countDown();
                throw new OutOfMemoryError("no thread is to be had");
              }

              @Override
              public void neglected(long nanos) {
                throw new IllegalStateException("a step is being taken");
              }

              @Override
              public boolean isWatched() {
                return looks.getCount() > 0;
              }
            });
    watch.begin(System.nanoTime() - Duration.ofSeconds(5).toNanos());
    watch.look();
    looks.await();
    assertEquals(0, looks.getCount());
  }
}
