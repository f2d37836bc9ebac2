package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

final class NativeResourceTest {
  private static final int THREADS = 8;
  private static final int ROUNDS = 2_000;

  @Test
  void freesOnceHoweverOftenItIsClosed() {
    Sample sample = new Sample();
    sample.close();
    sample.close();
    assertEquals(1, sample.freed.get());
    assertTrue(sample.isClosed());
  }

  @Test
  void refusesUseAfterCloseWithoutACall() {
    Sample sample = new Sample();
    sample.close();
    IllegalStateException refused = assertThrows(IllegalStateException.class, sample::call);
    assertEquals("sample is closed", refused.getMessage());
    assertEquals(0, sample.calls.get());
  }

  @Test
  void refusesToCloseWhileACallRuns() {
    Sample sample = new Sample();
    sample.acquire();
    IllegalStateException refused = assertThrows(IllegalStateException.class, sample::close);
    assertEquals("sample has 1 calls or dependents open", refused.getMessage());
    assertFalse(sample.isClosed());
    sample.release();
    sample.close();
    assertEquals(1, sample.freed.get());
  }

  @Test
  void refusesToCloseBeforeItsDependents() {
    Sample parent = new Sample();
    Sample child = new Sample(parent);
    assertThrows(IllegalStateException.class, parent::close);
    assertEquals(0, parent.freed.get());
    child.close();
    parent.close();
    assertEquals(1, parent.freed.get());
  }

  @Test
  void letsGoOfWhatItHeldIfOneOfItsNeedsIsClosed() {
    Sample open = new Sample();
    Sample closed = new Sample();
    closed.close();
    assertThrows(IllegalStateException.class, () -> new Sample(open, closed));
    open.close();
    assertEquals(1, open.freed.get());
  }

  @Test
  void refusesToCloseWhatWorkGoesOnWithAndStaysUsable() {
    Sample memory = new Sample();
    AtomicInteger asked = new AtomicInteger();
    PendingWork.add(
        one -> {
          if (one != memory) {
            return null;
          }
          // While that is decided nobody may begin something new.
          assertThrows(IllegalStateException.class, memory::call);
          return asked.getAndIncrement() == 0 ? "operation 7" : null;
        });
    PendingWork.lend(memory);
    IllegalStateException refused = assertThrows(IllegalStateException.class, memory::close);
    assertEquals("sample is in use by operation 7", refused.getMessage());
    assertFalse(memory.isClosed());
    memory.call();
    memory.close();
    memory.close();
    assertEquals(1, memory.freed.get());
    assertEquals(2, asked.get());
  }

  @Test
  void isClosedEvenIfFreeingFails() {
    Sample parent = new Sample();
    Sample child = new Sample(parent);
    child.problem = new IllegalArgumentException("the library said no");
    Throwable thrown = assertThrows(IllegalArgumentException.class, child::close);
    assertSame(child.problem, thrown);
    assertTrue(child.isClosed());
    child.close();
    assertEquals(1, child.freed.get());
    parent.close();
    assertEquals(1, parent.freed.get());
  }

  @Test
  void letsGoWhenTheCallThrows() {
    Sample sample = new Sample();
    sample.problem = new IllegalArgumentException("the call failed");
    assertThrows(IllegalArgumentException.class, sample::call);
    sample.problem = null;
    sample.close();
    assertTrue(sample.isClosed());
  }

  @Test
  void neverFreesUnderARunningCall() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try {
      for (int round = 0; round < ROUNDS; round++) {
        Sample sample = new Sample();
        CountDownLatch go = new CountDownLatch(1);
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
          boolean closes = i == 0;
          all.add(
              threads.submit(
                  () -> {
                    go.await();
                    if (closes) {
                      closeOnceIdle(sample);
                    } else {
                      callWhileOpen(sample);
                    }
                    return null;
                  }));
        }
        go.countDown();
        for (Future<?> one : all) {
          one.get();
        }
        assertEquals(1, sample.freed.get());
        assertEquals(0, sample.callsAfterFree.get());
      }
    } finally {
      threads.shutdownNow();
    }
  }

  private static void closeOnceIdle(Sample sample) {
    while (!sample.isClosed()) {
      try {
        sample.close();
      } catch (IllegalStateException busy) {
        Thread.onSpinWait();
      }
    }
  }

  private static void callWhileOpen(Sample sample) {
    for (int i = 0; i < 4; i++) {
      try {
        sample.call();
      } catch (IllegalStateException closed) {
        return;
      }
    }
  }

  /** Counts what happens to it. */
  private static final class Sample extends NativeResource {
    private final AtomicInteger freed = new AtomicInteger();
    private final AtomicInteger calls = new AtomicInteger();
    private final AtomicInteger callsAfterFree = new AtomicInteger();
    private RuntimeException problem;

    private Sample(NativeResource... needs) {
      super(needs);
    }

    int call() {
      return using(
          () -> {
            if (freed.get() != 0) {
              callsAfterFree.incrementAndGet();
            }
            if (problem != null) {
              throw problem;
            }
            return calls.incrementAndGet();
          });
    }

    @Override
    protected void free() {
      freed.incrementAndGet();
      if (problem != null) {
        throw problem;
      }
    }

    @Override
    public String toString() {
      return "sample";
    }
  }
}
