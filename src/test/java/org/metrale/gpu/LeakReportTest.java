package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

final class LeakReportTest {
  @Test
  void countsAndNamesWhatWasDroppedOpenAndNothingElse() throws Exception {
    ForkedJvm.Result result =
        ForkedJvm.running(Dropper.class).property("org.metrale.leaks", "trace").run().succeeded();
    assertEquals("3", result.value("leaked"));
    String text = result.output();
    assertTrue(
        text.contains(Dropper.Sample.class.getName() + " was dropped without close()"), text);
    assertTrue(text.contains("made here"), text);
    assertTrue(text.contains("Dropper.drop"), text);
  }

  @Test
  void isSilentUnlessAskedFor() throws Exception {
    ForkedJvm.Result result = ForkedJvm.running(Dropper.class).run().succeeded();
    assertEquals("0", result.value("leaked"));
    assertEquals(1, result.output().lines().count(), result.output());
  }

  /** Drops three open resources and some closed ones. */
  static final class Dropper {
    private static final int WANTED = 3;
    private static final long LIMIT_NANOS = 30_000_000_000L;
    private static final long PAUSE_NANOS = 5_000_000L;

    private Dropper() {}

    public static void main(String[] arguments) {
      drop();
      boolean traced = System.getProperty("org.metrale.leaks") != null;
      long end = System.nanoTime() + (traced ? LIMIT_NANOS : 0);
      do {
        System.gc();
        LockSupport.parkNanos(PAUSE_NANOS);
      } while (LeakReport.leaked() < WANTED && System.nanoTime() < end);
      System.out.println("leaked=" + LeakReport.leaked());
    }

    private static void drop() {
      for (int i = 0; i < WANTED; i++) {
        new Sample();
        new Sample().close();
      }
    }

    /** Owns nothing. */
    static final class Sample extends NativeResource {
      @Override
      protected void free() {}
    }
  }
}
