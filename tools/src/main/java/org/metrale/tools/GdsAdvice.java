package org.metrale.tools;

import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Which way to use, from what was measured and from nothing else.
 *
 * @param way empty if nothing was measured
 * @param reason with the numbers behind it
 */
record GdsAdvice(Optional<String> way, String reason) {
  /** How much faster cuFile must be to be worth its requirements. */
  static final double WORTH_IT = 1.05;

  /** The name of the way through cuFile. */
  static final String CUFILE = "cuFile";

  static GdsAdvice of(List<GdsResult> results) {
    List<GdsResult> measured = results.stream().filter(GdsResult::isMeasured).toList();
    if (measured.isEmpty()) {
      return new GdsAdvice(Optional.empty(), "no way could be measured");
    }
    // What came out of the page cache says nothing about the storage.
    List<GdsResult> cold = measured.stream().filter(GdsResult::cold).toList();
    List<GdsResult> fair = cold.isEmpty() ? measured : cold;
    Optional<GdsResult> cuFile = fair.stream().filter(one -> one.way().equals(CUFILE)).findFirst();
    Optional<GdsResult> other =
        fair.stream()
            .filter(one -> !one.way().equals(CUFILE))
            .max(Comparator.comparingDouble(GdsResult::bytesPerSecond));
    String doubt = cold.isEmpty() ? "; the page cache may have helped" : "";
    if (cuFile.isEmpty() || other.isEmpty()) {
      GdsResult only = cuFile.or(() -> other).orElseThrow();
      String rest =
          fair.stream()
              .filter(one -> one != only)
              .map(GdsAdvice::speed)
              .collect(Collectors.joining(", "));
      return new GdsAdvice(
          Optional.of(only.way()),
          speed(only)
              + (rest.isEmpty() ? ", the only one measured" : " against " + rest)
              + doubt);
    }
    double factor = cuFile.get().bytesPerSecond() / other.get().bytesPerSecond();
    boolean worth = factor >= WORTH_IT;
    GdsResult chosen = worth ? cuFile.get() : other.get();
    return new GdsAdvice(
        Optional.of(chosen.way()),
        String.format(
            Locale.ROOT,
            "%s against %s: cuFile has %.2f times the speed and is worth it from %.2f on%s",
            speed(cuFile.get()),
            speed(other.get()),
            factor,
            WORTH_IT,
            doubt));
  }

  private static String speed(GdsResult one) {
    String route = one.way().equals(CUFILE) ? " (" + one.route() + ")" : "";
    return one.way() + route + " " + Quantities.bandwidth(one.bytesPerSecond());
  }
}
