package org.metrale.benchmarks;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** What is to be reached, and whether it was. */
final class Bounds {
  /** The profiler counts what the harness allocates too, which is far less than a byte each. */
  private static final double NO_BYTES = 0.5;

  private final Results results;
  private final List<Verdict> out = new ArrayList<>();

  private Bounds(Results results) {
    this.results = results;
  }

  /** The verdicts on all bounds of the areas that were run. */
  static List<Verdict> of(Results results, Set<String> areas, Collection<String> javas) {
    Bounds bounds = new Bounds(results);
    for (String java : javas) {
      bounds.calls(java);
      bounds.transfers(java);
      bounds.rest(java);
    }
    if (areas.contains("verbs")) {
      bounds.out.add(
          Verdict.notMeasured(
              "verbs",
              "rail transfer on Soft-RoCE; striped within 3 % of plain verbs",
              Row.NO_JAVA,
              "measured by src/test/vm/perftest.sh: reports/soft-roce-perftest.md"));
    }
    return bounds.out.stream().filter(verdict -> areas.contains(verdict.area())).toList();
  }

  private void calls(String java) {
    for (String work : List.of("group start", "all-reduce")) {
      atMost("raw", work, "raw", "direct", java, 1.05);
      atMost("raw", work, "raw", "bytedeco", java, 1.05);
    }
    overC("nccl", "all-reduce", "checked", java, 15);
    atMost("nccl", "all-reduce", "checked", "bytedeco", java, 1);
    for (String work : List.of("stream query", "event record", "stream wait")) {
      overC("cuda", work, "checked", java, 8);
    }
    overC("cufile", "register + deregister", "checked", java, 15);
    overC("cufile", "register + deregister", "flat", java, 15);
    overC("nvml", "full sample", "checked", java, 60);
    overEmpty(java);
    overC("nvtx", "range, tool attached", "checked", java, 15);
    overC("verbs", "post + reap 64, a request", "checked", java, 3);
    for (String direction : List.of("encode", "decode")) {
      wire(direction, java);
    }
    for (String hostile : List.of("refuse a cut frame", "refuse a lying count")) {
      pair(
          "wire",
          hostile + ": at most as long as the good frame",
          java,
          find("wire", hostile, "checked", java),
          find("wire", "decode 8 rails × 64 regions", "checked", java),
          1,
          "of the good frame's time");
    }
  }

  private void transfers(String java) {
    for (int size : new int[] {4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20}) {
      reads("read-" + size, java);
    }
    for (int threads : new int[] {1, 2, 4}) {
      reads("split-" + threads, java);
    }
    speedUp(java);
  }

  /** kvikio's figures are 10.5, 38 and 84 GiB/s for 1, 4 and 16 threads: 0.9 of all it could be. */
  private void speedUp(String java) {
    String text = "64 MiB split over 2 threads: at least 1.8 times as fast as by 1";
    Optional<Row> one = find("cufile", ReadsProbe.name("split-1"), "checked", java);
    Optional<Row> two = find("cufile", ReadsProbe.name("split-2"), "checked", java);
    Optional<Row> c1 = one.flatMap(results::counterpart);
    Optional<Row> c2 = two.flatMap(results::counterpart);
    if (c1.isEmpty() || c2.isEmpty()) {
      missing("cufile", text, java);
      return;
    }
    double ours = Row.median(Results.pairs(one.get(), two.get(), (a, b) -> a / b));
    double theirs = Row.median(Results.pairs(c1.get(), c2.get(), (a, b) -> a / b));
    out.add(Verdict.of("cufile", text, java, number(ours) + ", C " + number(theirs), ours >= 1.8));
  }

  private void reads(String key, String java) {
    String work = ReadsProbe.name(key);
    String text = work + ": at least 0.98 of C's throughput";
    Optional<Row> ours = find("cufile", work, "checked", java);
    Optional<Row> c = ours.flatMap(results::counterpart);
    if (ours.isEmpty() || c.isEmpty()) {
      missing("cufile", text, java);
      return;
    }
    double share = Row.median(Results.pairs(c.get(), ours.get(), (a, b) -> a / b));
    out.add(
        Verdict.of(
            "cufile", text + " (" + ours.get().level() + ")", java, number(share), share >= 0.98));
  }

  private void rest(String java) {
    handshake(java);
    startup(java);
    for (String way : List.of("idle", "busy")) {
      double limit = way.equals("idle") ? 0.1 : 1;
      String text = "8 communicators " + way + ": under " + number(limit) + " % of a core";
      find("watchdog", "8 communicators " + way, "checked", java)
          .ifPresentOrElse(
              row ->
                  out.add(
                      Verdict.of(
                          "watchdog",
                          text,
                          java,
                          number(row.median()) + " %",
                          row.median() < limit)),
              () -> missing("watchdog", text, java));
    }
    emulator(java);
    for (String work : List.of("all-reduce", "event record + query", "post + reap 64")) {
      for (String threads : List.of("1 thread", "2 threads", "4 threads")) {
        String text = work + ", " + threads + ": no thread waits for another";
        find("scale", work + ", " + threads, "waits for another thread", java)
            .ifPresentOrElse(
                row ->
                    out.add(
                        Verdict.of(
                            "scale", text, java, number(row.most()) + " events", row.most() == 0)),
                () -> missing("scale", text, java));
      }
    }
  }

  private void handshake(String java) {
    String text = "handshake of 2 rails: two round trips plus at most 150 us";
    Optional<Row> ours = find("handshake", "handshake of 2 rails", "checked", java);
    Optional<Row> trips = find("handshake", "two round trips", "java sockets", java);
    if (ours.isEmpty() || trips.isEmpty()) {
      missing("handshake", text, java);
      return;
    }
    double more = Row.median(Results.pairs(ours.get(), trips.get(), (a, b) -> a - b)) / 1e3;
    out.add(Verdict.of("handshake", text, java, "plus " + number(more) + " us", more <= 150));
  }

  private void startup(String java) {
    Optional<Row> empty = find("startup", "empty program", "java", java);
    Optional<Row> theirs = find("startup", "first NCCL version call", "bytedeco", java);
    for (String subject : List.of("raw", "checked")) {
      String text =
          "first NCCL version call by "
              + subject
              + ": at most 0.7 of bytedeco's, over an empty JVM";
      Optional<Row> ours = find("startup", "first NCCL version call", subject, java);
      if (ours.isEmpty() || theirs.isEmpty() || empty.isEmpty()) {
        missing("startup", text, java);
      } else {
        double none = empty.get().median();
        double share = (ours.get().median() - none) / (theirs.get().median() - none);
        out.add(Verdict.of("startup", text, java, number(share), share <= 0.7));
      }
    }
    String text = "doctor without libraries: under 0.6 s";
    find("startup", "doctor without libraries", "checked", java)
        .ifPresentOrElse(
            row ->
                out.add(
                    Verdict.of(
                        "startup", text, java, number(row.median()) + " ms", row.median() < 600)),
            () -> missing("startup", text, java));
  }

  /** Each rank reads 64 MiB and writes 64 MiB at least: four copies, on two threads. */
  private void emulator(String java) {
    String text = "all-reduce of 64 MiB, 4 ranks: at least half of what memcpy allows";
    Optional<Row> ours = find("emulator", "all-reduce 64 MiB, 4 ranks", "checked", java);
    Optional<Row> one = find("emulator", "memcpy of 64 MiB, 1 thread", "c", Row.NO_JAVA);
    Optional<Row> two = find("emulator", "memcpy of 64 MiB, 2 threads", "c", Row.NO_JAVA);
    if (ours.isEmpty() || one.isEmpty() || two.isEmpty()) {
      missing("emulator", text, java);
      return;
    }
    double copy = Math.min(one.get().median(), two.get().median());
    double share = 4 * copy / ours.get().median();
    out.add(Verdict.of("emulator", text, java, number(share), share >= 0.5));
  }

  private void overC(String area, String work, String subject, String java, double limit) {
    String text = work + " by " + subject + ": at most " + number(limit) + " ns over C, 0 B/op";
    Optional<Row> ours = find(area, work, subject, java);
    Optional<Row> c = ours.flatMap(results::counterpart);
    if (ours.isEmpty() || c.isEmpty()) {
      missing(area, text, java);
      return;
    }
    double more = Row.median(Results.pairs(ours.get(), c.get(), (a, b) -> a - b));
    double bytes = ours.get().bytes();
    String measured = number(more) + " ns, " + Report.bytesPerOperation(bytes) + " B/op";
    boolean reached = more <= limit && bytes < NO_BYTES;
    if (!reached) {
      measured += crossing(ours.get(), c.get());
    }
    out.add(Verdict.of(area, text, java, measured, reached));
  }

  /** What the way into C costs without any check: the part that no code in Java can save. */
  private String crossing(Row ours, Row c) {
    Optional<Row> empty = find(ours.area(), ours.work(), "empty", ours.java());
    if (empty.isPresent()) {
      return " (as many empty calls: " + number(empty.get().median()) + " ns)";
    }
    for (String subject : List.of("flat", "raw")) {
      Optional<Row> bare = find(ours.area(), ours.work(), subject, ours.java());
      if (bare.isPresent() && !ours.subject().equals(subject)) {
        double more = Row.median(Results.pairs(bare.get(), c, (a, b) -> a - b));
        return " (" + subject + " alone: " + number(more) + " ns)";
      }
    }
    return "";
  }

  private void overEmpty(String java) {
    String text = "range without a tool: at most 0.5 ns, 0 B/op";
    Optional<Row> ours = find("nvtx", "range, no tool", "checked", java);
    Optional<Row> empty = find("nvtx", "range, no tool", "empty", java);
    if (ours.isEmpty() || empty.isEmpty()) {
      missing("nvtx", text, java);
      return;
    }
    double more = Row.median(Results.pairs(ours.get(), empty.get(), (a, b) -> a - b));
    String measured =
        number(more) + " ns, " + Report.bytesPerOperation(ours.get().bytes()) + " B/op";
    out.add(Verdict.of("nvtx", text, java, measured, more <= 0.5 && ours.get().bytes() < NO_BYTES));
  }

  private void wire(String direction, String java) {
    String text = direction + " of 8 rails × 64 regions: at least 1 GB/s a core";
    find("wire", direction + " 8 rails × 64 regions", "checked", java)
        .ifPresentOrElse(
            row -> {
              double rate = WireBenchmark.BYTES / row.median();
              out.add(Verdict.of("wire", text, java, number(rate) + " GB/s", rate >= 1));
            },
            () -> missing("wire", text, java));
  }

  private void atMost(
      String area, String work, String subject, String other, String java, double limit) {
    pair(
        area,
        work + " by " + subject + ": at most " + number(limit) + " of " + other,
        java,
        find(area, work, subject, java),
        find(area, work, other, java),
        limit,
        "of " + other);
  }

  private void pair(
      String area,
      String text,
      String java,
      Optional<Row> ours,
      Optional<Row> other,
      double limit,
      String of) {
    if (ours.isEmpty() || other.isEmpty()) {
      missing(area, text, java);
      return;
    }
    double share = Row.median(Results.pairs(ours.get(), other.get(), (a, b) -> a / b));
    out.add(Verdict.of(area, text, java, number(share) + " " + of, share <= limit));
  }

  private void missing(String area, String text, String java) {
    out.add(Verdict.notMeasured(area, text, java, "see the problems"));
  }

  private Optional<Row> find(String area, String work, String subject, String java) {
    return results.find(area, work, subject, java);
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, Math.abs(value) < 10 ? "%.2f" : "%.0f", value);
  }
}
