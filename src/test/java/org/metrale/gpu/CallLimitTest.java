package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

class CallLimitTest {
  private static final Duration LONG = Duration.ofSeconds(20);
  private static final Duration SHORT = Duration.ofMillis(20);

  private final CallLimit limit = new CallLimit();
  private final AtomicInteger ends = new AtomicInteger();
  private final AtomicReference<Object> late = new AtomicReference<>();
  private final CountDownLatch go = new CountDownLatch(1);

  private static final class TooLate extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final Duration waited;

    TooLate(Duration waited) {
      this.waited = waited;
    }
  }

  private <T> T run(Duration time, java.util.function.Supplier<T> call) {
    return limit.run(time, call, ends::incrementAndGet, late::set, TooLate::new);
  }

  private String held() {
    boolean interrupted = false;
    while (true) {
      try {
        assertTrue(go.await(20, TimeUnit.SECONDS));
        break;
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    return interrupted ? "interrupted" : "made";
  }

  private void untilReturned() throws Exception {
    assertTrue(Backoff.await(() -> limit.running() == 0, LONG));
  }

  @Test
  void callsInAnotherThreadAndAnswers() {
    assertNotSame(Thread.currentThread(), run(LONG, Thread::currentThread));
    assertEquals(1, ends.get());
    assertEquals(0, limit.running());
  }

  @Test
  void callsInTheCallersThreadWhereThereIsNoLimit() {
    Duration forever = ChronoUnit.FOREVER.getDuration();
    assertFalse(CallLimit.isLimited(forever));
    assertTrue(CallLimit.isLimited(Duration.ofDays(36_500)));
    assertSame(Thread.currentThread(), run(forever, Thread::currentThread));
    assertEquals(1, ends.get());
  }

  @Test
  void countsACallThatIsLateAndHandsOverWhatItMade() throws Exception {
    TooLate thrown = assertThrows(TooLate.class, () -> run(SHORT, this::held));
    assertTrue(thrown.waited.compareTo(SHORT) >= 0, thrown.waited.toString());
    assertEquals(1, limit.running());
    assertEquals(0, ends.get());
    go.countDown();
    untilReturned();
    assertEquals(1, ends.get());
    assertEquals("made", late.get());
  }

  @Test
  void throwsWhatTheCallThrewAndSaysWhoAsked() {
    IllegalStateException thrown =
        assertThrows(
            IllegalStateException.class,
            () ->
                run(
                    LONG,
                    () -> {
                      throw new IllegalStateException("no");
                    }));
    assertEquals("no", thrown.getMessage());
    assertEquals(1, thrown.getSuppressed().length);
    assertEquals(1, ends.get());
  }

  @Test
  void handsOverNothingOfALateCallThatFails() throws Exception {
    assertThrows(
        TooLate.class,
        () ->
            run(
                SHORT,
                () -> {
                  held();
                  throw new IllegalStateException("nobody hears this");
                }));
    go.countDown();
    untilReturned();
    assertEquals(null, late.get());
    assertEquals(1, ends.get());
  }

  @Test
  void keepsAnInterruptForLater() {
    Thread.currentThread().interrupt();
    assertThrows(TooLate.class, () -> run(SHORT, this::held));
    assertTrue(Thread.interrupted());
    go.countDown();
  }

  @Test
  void endsAWaitThatMayBeInterrupted() throws Exception {
    LeavableCall<String> call = limit.start(this::held, ends::incrementAndGet, late::set);
    Thread.currentThread().interrupt();
    assertThrows(InterruptedException.class, () -> call.await(LONG));
    assertFalse(call.isOver());
    go.countDown();
    assertTrue(call.await(LONG));
    assertEquals("made", call.answer());
    assertFalse(call.leave());
    assertEquals(0, limit.running());
  }
}
