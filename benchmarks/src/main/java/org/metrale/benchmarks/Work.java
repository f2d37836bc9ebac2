package org.metrale.benchmarks;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.openjdk.jmh.annotations.Benchmark;

/**
 * One thing that JMH measures for every subject, and its counterpart in C.
 *
 * @param area the part of the project
 * @param name as reports give it
 * @param benchmark the class with the methods {@code METHOD_SUBJECT}
 * @param method the first half of their names
 * @param program which program has the counterpart in C, or empty
 * @param line what that program calls it
 * @param level what stands for the library
 */
record Work(
    String area,
    String name,
    Class<?> benchmark,
    String method,
    String program,
    String line,
    String level) {
  /** Everything that JMH measures. */
  static List<Work> all() {
    return List.of(
        noop("raw", "group start", RawBenchmark.class, "groupStart", "nccl", "group-start"),
        noop("raw", "all-reduce", RawBenchmark.class, "allReduce", "nccl", "all-reduce"),
        noop("nccl", "all-reduce", NcclBenchmark.class, "allReduce", "nccl", "all-reduce"),
        noop("cuda", "stream query", CudaBenchmark.class, "streamQuery", "cuda", "stream-query"),
        noop("cuda", "event record", CudaBenchmark.class, "eventRecord", "cuda", "event-record"),
        noop("cuda", "stream wait", CudaBenchmark.class, "streamWait", "cuda", "stream-wait"),
        noop(
            "cufile",
            "register + deregister",
            CuFileBenchmark.class,
            "registerDeregister",
            "cufile",
            "register-deregister"),
        noop("nvml", "full sample", NvmlBenchmark.class, "fullSample", "nvml", "full-sample"),
        new Work(
            "nvtx",
            "range, no tool",
            NvtxBenchmark.class,
            "rangeOff",
            "nvtx",
            "range-off",
            Level.NONE),
        new Work(
            "nvtx",
            "range, tool attached",
            NvtxBenchmark.class,
            "rangeTool",
            "nvtx",
            "range-tool",
            "no-op tool"),
        noop(
            "verbs",
            "post + reap 64, a request",
            VerbsBenchmark.class,
            "postReap",
            "verbs",
            "post-reap-64"),
        wire("encode 8 rails × 64 regions", "encode", "encode"),
        wire("decode 8 rails × 64 regions", "decode", "decode"),
        wire("refuse a cut frame", "decodeCut", ""),
        wire("refuse a lying count", "decodeLying", ""));
  }

  private static Work noop(
      String area, String name, Class<?> type, String method, String program, String line) {
    return new Work(area, name, type, method, program, line, Level.NO_OP);
  }

  private static Work wire(String name, String method, String line) {
    return new Work("wire", name, WireBenchmark.class, method, "wire", line, Level.NONE);
  }

  /** Who does it. */
  List<String> subjects() {
    return Arrays.stream(benchmark.getDeclaredMethods())
        .filter(found -> found.isAnnotationPresent(Benchmark.class))
        .map(Method::getName)
        .filter(found -> found.startsWith(method + "_"))
        .map(found -> found.substring(method.length() + 1))
        .sorted()
        .toList();
  }

  /** The variables that the counterpart in C needs. */
  Map<String, String> variables(Setting setting) {
    return method.equals("rangeTool")
        ? Map.of("NVTX_INJECTION64_PATH", setting.nvtxTool().toString())
        : Map.of();
  }
}
