package org.metrale.benchmarks;

/** What happens if somebody ends the run: its processes end too, and nothing is written. */
final class Interruption {
  private static volatile boolean done;

  private Interruption() {}

  /** From now on. */
  static void watch() {
    Runtime.getRuntime().addShutdownHook(new Thread(Interruption::end, "interruption"));
  }

  /** Everything is measured and written. */
  static void done() {
    done = true;
  }

  private static void end() {
    ProcessHandle.current().descendants().forEach(ProcessHandle::destroyForcibly);
    if (!done) {
      System.err.println("bench: ended before everything was measured; no file was written");
    }
  }
}
