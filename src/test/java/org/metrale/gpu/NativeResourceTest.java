package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
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
  void refusesToCloseUnderACallThatDoesNotEnd() {
    Sample sample = new Sample();
    sample.acquire();
    IllegalStateException refused = assertThrows(IllegalStateException.class, sample::close);
    assertEquals("sample has 1 calls running", refused.getMessage());
    assertFalse(sample.isClosed());
    assertEquals(1, sample.call());
    sample.release();
    sample.close();
    assertEquals(1, sample.freed.get());
  }

  @Test
  void waitsForACallThatEnds() throws Exception {
    Sample sample = new Sample();
    sample.acquire();
    Thread closing = new Thread(sample::close);
    closing.start();
    awaitParked(closing);
    // What is in the middle of a call may call again.
    assertEquals(1, sample.call());
    assertFalse(sample.isClosed());
    sample.release();
    closing.join();
    assertEquals(1, sample.freed.get());
    assertThrows(IllegalStateException.class, sample::call);
  }

  @Test
  void refusesToCloseWhenACallMadeADependentMeanwhile() throws Exception {
    Sample parent = new Sample();
    parent.acquire();
    FutureTask<Void> closing = new FutureTask<>(parent::close, null);
    Thread thread = new Thread(closing);
    thread.start();
    awaitParked(thread);
    Sample child = new Sample(parent);
    ExecutionException refused = assertThrows(ExecutionException.class, closing::get);
    assertEquals("sample has 1 dependents open", refused.getCause().getMessage());
    assertFalse(parent.isClosed());
    parent.release();
    child.close();
    parent.close();
  }

  @Test
  void refusesToCloseBeforeWorkThatOutlivesItsCall() {
    Sample sample = new Sample();
    sample.hold();
    IllegalStateException refused = assertThrows(IllegalStateException.class, sample::close);
    assertEquals("sample has 1 dependents open", refused.getMessage());
    sample.letGo();
    sample.close();
    assertThrows(IllegalStateException.class, sample::hold);
  }

  @Test
  void closesItsOwnOnceWhenTwoThreadsClose() throws Exception {
    for (int round = 0; round < ROUNDS; round++) {
      Sample sample = new Sample();
      CyclicBarrier together = new CyclicBarrier(2);
      Thread other = new Thread(() -> closeTogether(sample, together));
      other.start();
      closeTogether(sample, together);
      other.join();
      assertEquals(1, sample.freed.get());
      assertEquals(0, sample.closedOwnAfterFree.get());
    }
  }

  @Test
  void refusesToCloseWhatThisThreadIsClosing() {
    Sample sample = new Sample();
    sample.own = sample::close;
    IllegalStateException refused = assertThrows(IllegalStateException.class, sample::close);
    assertEquals("sample is being closed by this thread", refused.getMessage());
    sample.own = () -> {};
    sample.close();
    assertEquals(1, sample.freed.get());
  }

  @Test
  void holdsNothingIfOneOfItsNeedsIsNull() {
    Sample open = new Sample();
    assertThrows(NullPointerException.class, () -> new Sample(open, null));
    open.close();
    assertEquals(1, open.freed.get());
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

  private static void awaitParked(Thread thread) {
    while (thread.getState() != Thread.State.TIMED_WAITING) {
      Thread.onSpinWait();
    }
  }

  private static void closeTogether(Sample sample, CyclicBarrier together) {
    try {
      together.await();
    } catch (InterruptedException | BrokenBarrierException e) {
      throw new AssertionError(e);
    }
    sample.close();
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
    private final AtomicInteger closedOwnAfterFree = new AtomicInteger();
    private Runnable own = () -> {};
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
    protected void closeOwn() {
      if (freed.get() != 0) {
        closedOwnAfterFree.incrementAndGet();
      }
      own.run();
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
