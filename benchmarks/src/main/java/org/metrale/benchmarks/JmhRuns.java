package org.metrale.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.profile.GCProfiler;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** Runs the works of one area: in each round C, then every subject on every Java. */
final class JmhRuns {
  private static final String ALLOCATED = "gc.alloc.rate.norm";

  /**
   * Work that allocates would else be measured with the kernel's first touch of each new page of
   * the heap, which took several times as long as the work.
   */
  private static final String[] TOUCHED_HEAP = {"-Xms256m", "-Xmx256m", "-XX:+AlwaysPreTouch"};

  private final Setting setting;
  private final Results results;
  private final Path log;

  JmhRuns(Setting setting, Results results) {
    this.setting = setting;
    this.results = results;
    this.log = setting.base().resolve("benchmarks/target/jmh.log");
  }

  void round(String area) throws IOException, InterruptedException {
    // A program has the lines of several works.
    Map<String, Map<String, List<Double>>> loops = new HashMap<>();
    for (Work work : Work.all()) {
      if (!work.area().equals(area)) {
        continue;
      }
      if (!work.line().isEmpty()) {
        String key = work.program() + work.variables(setting);
        if (!loops.containsKey(key)) {
          loops.put(key, Loops.run(setting, results, work.program(), work.variables(setting)));
        }
        counterpart(work, loops.get(key));
      }
      for (String java : setting.javas().keySet()) {
        for (String subject : work.subjects()) {
          boolean foreign = subject.startsWith("ffm");
          boolean able = !foreign || Foreign.isIn(java);
          if (able && (foreign || setting.wholeJavas().contains(java))) {
            subject(work, subject, java);
          }
        }
      }
    }
  }

  private void counterpart(Work work, Map<String, List<Double>> lines) {
    List<Double> values = lines.get(work.line());
    if (values != null) {
      add(work, "c", Row.NO_JAVA, values, -1);
    }
    List<Double> recorded = lines.get(work.line() + "-recorded");
    if (recorded != null && work.area().equals("nccl")) {
      add(work, "c and an event", Row.NO_JAVA, recorded, -1);
    }
  }

  private void subject(Work work, String subject, String java) throws IOException {
    String method = work.benchmark().getName() + "." + work.method() + "_" + subject;
    OptionsBuilder options = new OptionsBuilder();
    Files.createDirectories(log.getParent());
    options
        .include("^" + method.replace(".", "\\.") + "$")
        .mode(Mode.AverageTime)
        .timeUnit(TimeUnit.NANOSECONDS)
        .forks(1)
        .warmupIterations(setting.pace().warmups())
        .warmupTime(TimeValue.milliseconds(setting.pace().millis()))
        .measurementIterations(setting.pace().repeats())
        .measurementTime(TimeValue.milliseconds(setting.pace().millis()))
        .addProfiler(GCProfiler.class)
        .jvm(setting.javas().get(java).toString())
        .jvmArgs(setting.jvmArguments(setting.noop()).toArray(String[]::new))
        .jvmArgsAppend(TOUCHED_HEAP)
        .shouldFailOnError(true)
        .verbosity(VerboseMode.NORMAL)
        .output(log.toString());
    if (setting.pace() == Setting.Pace.SMOKE) {
      // A process of its own all the same: some of these exclude each other.
      options.measurementTime(TimeValue.milliseconds(1));
    }
    try {
      take(work, subject, java, new Runner(options.build()).run());
    } catch (RunnerException e) {
      results.problem(
          method
              + " on Java "
              + java
              + ": "
              + e.getMessage()
              + "; see "
              + setting.base().relativize(log));
    }
  }

  private void take(Work work, String subject, String java, Collection<RunResult> runs) {
    List<Double> values = new ArrayList<>();
    double bytes = -1;
    for (RunResult run : runs) {
      for (IterationResult one :
          run.getBenchmarkResults().stream()
              .flatMap(b -> b.getIterationResults().stream())
              .toList()) {
        values.add(one.getPrimaryResult().getScore());
      }
      for (String name : run.getSecondaryResults().keySet()) {
        if (name.endsWith(ALLOCATED)) {
          bytes = run.getSecondaryResults().get(name).getScore();
        }
      }
    }
    if (values.isEmpty()) {
      results.problem(work.name() + " by " + subject + " on Java " + java + " gave no numbers");
    } else {
      add(work, subject, java, values, bytes);
    }
  }

  private void add(Work work, String subject, String java, List<Double> values, double bytes) {
    Row row = Row.of(work.area(), work.name(), subject, java, work.level(), "ns/op");
    results.add(
        subject.startsWith("c") && java.equals(Row.NO_JAVA)
            ? row.withSource(Loops.source(work.program()))
            : row,
        values,
        bytes);
  }
}
