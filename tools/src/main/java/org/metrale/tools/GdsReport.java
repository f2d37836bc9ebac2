package org.metrale.tools;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.metrale.gpu.cufile.GdsStatus;

/**
 * What was found and measured, as text or JSON.
 *
 * @param noGpu why reads went to the host's memory; empty if they did not
 */
record GdsReport(
    long fileBytes,
    boolean emulated,
    String target,
    String noGpu,
    GdsStatus status,
    Map<GdsPattern, List<GdsResult>> results) {
  boolean isAnyMeasured() {
    return results.values().stream().flatMap(List::stream).anyMatch(GdsResult::isMeasured);
  }

  Map<String, Object> toJson() {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("file", status.file().toString());
    out.put("bytes", fileBytes);
    out.put("file_system", status.fileSystem());
    out.put("emulated", emulated);
    out.put("target", target);
    out.put("gds_route", status.route().name());
    out.put("gds_off_because", status.reasons().stream().map(Messages::brief).toList());
    List<Object> all = new ArrayList<>();
    Map<String, Object> advice = new LinkedHashMap<>();
    results.forEach(
        (pattern, some) -> {
          some.forEach(one -> all.add(one.toJson()));
          GdsAdvice use = GdsAdvice.of(some);
          Map<String, Object> said = new LinkedHashMap<>();
          said.put("way", use.way().orElse(null));
          said.put("reason", use.reason());
          advice.put(pattern.title(), said);
        });
    out.put("results", all);
    out.put("advice", advice);
    return out;
  }

  void print(PrintWriter out) {
    String mark = emulated ? "EMULATED: " : "";
    out.printf(
        "%s%s (%s, %s) into %s%n",
        mark, status.file(), Quantities.bytes(fileBytes), status.fileSystem(), target);
    if (!noGpu.isEmpty()) {
      out.printf("no GPU: %s%n", noGpu);
    }
    out.printf(
        "cuFile: %s; nvidia-fs %s; device memory would go by %s%n",
        status.library().isEmpty() ? "not available" : status.library(),
        status.nvidiaFsLoaded() ? "loaded" : "not loaded",
        status.route());
    for (String reason : status.reasons()) {
      out.printf("GPUDirect Storage is off: %s%n", Messages.brief(reason));
    }
    out.println();
    table(out);
    results.forEach(
        (pattern, some) -> {
          GdsAdvice use = GdsAdvice.of(some);
          String way = use.way().map(name -> "use " + name).orElse("no advice");
          out.printf("%s%s: %s: %s%n", mark, pattern, way, use.reason());
        });
    if (emulated) {
      out.println("EMULATED: speeds here say nothing about hardware");
    }
  }

  private void table(PrintWriter out) {
    TextTable table =
        new TextTable("way", "pattern", "route", "speed", "median read", "slowest", "page cache");
    List<String> missing = new ArrayList<>();
    for (GdsResult one : results.values().stream().flatMap(List::stream).toList()) {
      if (one.isMeasured()) {
        table.row(
            one.way(),
            one.pattern(),
            one.route(),
            Quantities.bandwidth(one.bytesPerSecond()),
            Quantities.nanos(one.medianNanos()),
            Quantities.nanos(one.slowestNanos()),
            one.cold() ? "cold" : "may have helped");
      } else {
        missing.add("not measured: " + one.way() + ", " + one.pattern() + ": " + one.problem());
      }
    }
    table.lines().forEach(out::println);
    missing.forEach(out::println);
    out.println();
  }
}
