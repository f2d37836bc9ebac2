package org.metrale.benchmarks;

/**
 * Whether a bound was reached.
 *
 * @param area the part of the project
 * @param bound what was to be reached
 * @param java the Java's major version, or {@code -}
 * @param measured what was measured, in words
 * @param outcome how it ended
 */
record Verdict(String area, String bound, String java, String measured, Outcome outcome) {
  /** How it ended. */
  enum Outcome {
    REACHED("reached"),
    MISSED("MISSED"),
    NOT_MEASURED("not measured");

    private final String text;

    Outcome(String text) {
      this.text = text;
    }

    @Override
    public String toString() {
      return text;
    }
  }

  static Verdict of(String area, String bound, String java, String measured, boolean reached) {
    return new Verdict(area, bound, java, measured, reached ? Outcome.REACHED : Outcome.MISSED);
  }

  static Verdict notMeasured(String area, String bound, String java, String why) {
    return new Verdict(area, bound, java, why, Outcome.NOT_MEASURED);
  }
}
