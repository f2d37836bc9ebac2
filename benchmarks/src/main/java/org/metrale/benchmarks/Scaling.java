package org.metrale.benchmarks;

import java.util.Map;

final class Scaling {
  private Scaling() {}

  static String of(Results results, Map<String, String> machine) {
    return "";
  }
}
