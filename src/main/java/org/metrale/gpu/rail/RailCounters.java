package org.metrale.gpu.rail;

import java.util.ArrayList;
import java.util.List;

/** What is counted of rails over all their rebuilds. */
final class RailCounters {
  private final long[] failures;

  /** Null before the first; one may know more a moment later. */
  private final RailFault[] lastFaults;

  RailCounters(int rails) {
    failures = new long[rails];
    lastFaults = new RailFault[rails];
  }

  synchronized void failed(RailLink link) {
    failures[link.rail()]++;
    lastFaults[link.rail()] = link.fault();
  }

  synchronized List<RailStatus> status(List<RailLink> links, List<RailSpec> specs) {
    List<RailStatus> out = new ArrayList<>();
    for (RailLink link : links) {
      int rail = link.rail();
      out.add(
          new RailStatus(
              rail,
              specs.get(rail).device(),
              link.state(),
              link.carriedBytes(),
              failures[rail],
              lastFaults[rail] == null
                  ? ""
                  : String.valueOf(lastFaults[rail].reason().getMessage())));
    }
    return List.copyOf(out);
  }
}
