package org.metrale.gpu;

import java.util.Objects;

/**
 * One place where a library was looked for.
 *
 * @param how the rule that named the place, for example {@code property org.metrale.nccl.path}
 * @param place the path or name that was tried
 * @param problem why it was not taken, in the loader's own words; empty if it was opened
 */
public record LibraryAttempt(String how, String place, String problem) {
  /**
   * Checks that nothing is null.
   *
   * @param how the rule that named the place
   * @param place the path or name that was tried
   * @param problem why it was not taken, or an empty text
   */
  public LibraryAttempt {
    Objects.requireNonNull(how, "how");
    Objects.requireNonNull(place, "place");
    Objects.requireNonNull(problem, "problem");
  }

  /**
   * Whether this is the place that was opened.
   *
   * @return true if there was no problem
   */
  public boolean opened() {
    return problem.isEmpty();
  }

  @Override
  public String toString() {
    return how + ": " + place + (opened() ? ": opened" : ": " + problem);
  }
}
