package org.metrale.benchmarks;

import java.nio.charset.StandardCharsets;
import org.bytedeco.javacpp.BytePointer;
import org.metrale.global.cufile;
import org.metrale.global.nvtx;
import org.metrale.gpu.nvtx.NvtxDomain;
import org.metrale.gpu.nvtx.NvtxName;
import org.metrale.gpu.nvtx.NvtxRange;
import org.metrale.gpu.nvtx.NvtxTool;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/**
 * A range, opened and closed: without a tool, and with one that takes everything and does nothing.
 */
@State(Scope.Benchmark)
public class NvtxBenchmark {
  /** A registered name, no tool. */
  @State(Scope.Benchmark)
  public static class Off {
    NvtxDomain domain;
    NvtxName name;

    /** Refuses to run if a tool is there. */
    @Setup
    public void setUp() {
      if (NvtxTool.isAttached()) {
        throw new IllegalStateException("a tool is attached");
      }
      domain = NvtxDomain.of("benchmark");
      name = domain.register("range");
    }
  }

  /** A registered name and a tool; the variable is read when NVTX is used first. */
  @State(Scope.Benchmark)
  public static class Tool {
    NvtxDomain domain;
    NvtxName name;
    long flatDomain;
    long flatName;

    /** Attaches the tool. */
    @Setup
    public void setUp() {
      int code =
          cufile.metrale_cufile_set_variable(
              text("NVTX_INJECTION64_PATH"), text(System.getProperty("metrale.benchmarks.nvtx")));
      if (code != 0 || !NvtxTool.isAttached()) {
        throw new IllegalStateException("no tool is attached");
      }
      domain = NvtxDomain.of("benchmark");
      name = domain.register("range");
      flatDomain = nvtx.metrale_nvtx_domain_create(text("flat"));
      flatName = nvtx.metrale_nvtx_register(flatDomain, text("range"));
    }

    private static byte[] text(String text) {
      return (text + "\0").getBytes(StandardCharsets.UTF_8);
    }
  }

  /** A text that C can read. */
  @State(Scope.Benchmark)
  public static class Text {
    final BytePointer name = new BytePointer("range");
  }

  @Benchmark
  public void rangeOff_empty(Off off) {
    // What an operation costs that does nothing.
  }

  @Benchmark
  @SuppressWarnings("try") // the range is there to be closed
  public void rangeOff_checked(Off off) {
    try (NvtxRange range = off.domain.push(off.name)) {
      // Nothing: only the range is measured.
    }
  }

  @Benchmark
  public int rangeOff_raw(Off off, Text text) {
    return nvtx.nvtxRangePushA(text.name) + nvtx.nvtxRangePop();
  }

  @Benchmark
  @SuppressWarnings("try") // the range is there to be closed
  public void rangeTool_checked(Tool tool) {
    try (NvtxRange range = tool.domain.push(tool.name)) {
      // Nothing: only the range is measured.
    }
  }

  @Benchmark
  public int rangeTool_empty(Tool tool) {
    return DirectNccl.metrale_nothing(tool.flatDomain) + DirectNccl.metrale_nothing(tool.flatName);
  }

  @Benchmark
  public int rangeTool_flat(Tool tool) {
    return nvtx.metrale_nvtx_push(tool.flatDomain, tool.flatName, 0, 0, 0, 0)
        + nvtx.metrale_nvtx_pop(tool.flatDomain);
  }
}
