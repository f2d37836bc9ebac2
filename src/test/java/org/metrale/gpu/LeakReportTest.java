package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
    private static final int COLLECTIONS = 200;

    private Dropper() {}

    public static void main(String[] arguments) {
      drop();
      boolean traced = System.getProperty("org.metrale.leaks") != null;
      for (int i = 0; i < (traced ? COLLECTIONS : 1) && LeakReport.leaked() < WANTED; i++) {
        System.gc();
        Thread.yield();
      }
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
