package org.metrale.tools;

/**
 * How one operation went.
 *
 * @param problem what was wrong; empty if every number was right
 */
record DemoResult(DemoExercise exercise, long bytes, long medianNanos, String problem) {
  boolean isRight() {
    return problem.isEmpty();
  }

  double bytesPerSecond() {
    return bytes * 1e9 / Math.max(1, medianNanos);
  }
}
