package org.metrale.benchmarks;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.io.TempDir;
import org.metrale.benchmarks.Samples.Kind;
import org.metrale.benchmarks.Samples.Sample;

/** Which code a sample is told to be in. */
class SamplesTest {
  private static final String THREAD = "worker";

  /** As Java 17 and 25 write it: what follows an address with a note is the code up to the next. */
  private static final String LOG =
      """
      Compiled method (n/a)     179    6     n 0       org.metrale.global.cuda::metrale_call (native)
       total in heap  [0x0000000000001000,0x0000000000001100] = 256
       main code      [0x0000000000001000,0x0000000000001010] = 16

      [Entry Point]
        0x0000000000001000: 5590 f083 | 4424 c000 | 4839 c0c3 | 9090 9090\s
      Compiled method (c2) 2937  679       4       org.metrale.jmh.Bench::loop (54 bytes)
       main code      [0x0000000000002000,0x0000000000002010] = 16

        0x0000000000002000: 9090 9090\s

        0x0000000000002004: ;*getfield state {reexecute=0 rethrow=0 return_oop=0}
                            ; - org.metrale.gpu.Inner::check@1 (line 127)
                            ; - org.metrale.gpu.Outer::work@17 (line 201)
        0x0000000000002004: f00f b111 | 9090\s

        0x000000000000200a: ;*invokevirtual work {reexecute=0 rethrow=0 return_oop=0}
                            ; - org.metrale.gpu.Outer&lt;T&gt;::&lt;init&gt;@2 (line 202)
        0x000000000000200a: 9090 9090 | 90c3\s
      """;

  @TempDir Path folder;

  private Samples of(Sample... samples) throws Exception {
    Path log = Files.writeString(folder.resolve("log"), LOG);
    return Samples.of(List.of(samples), THREAD, CompiledCode.read(log));
  }

  private static Sample made(long address) {
    return new Sample(THREAD, address, "[unknown]", "perf-1.map");
  }

  @Test
  @EnabledOnOs(architectures = "amd64") // for the log has its instructions
  void javaCodeIsTheInnermostMethodsAndAnAtomicStepIsNamed() throws Exception {
    Samples samples = of(made(0x2001), made(0x2008), made(0x2008), made(0x2009));
    assertEquals(
        Map.of(
            "Inner::check", 0.25,
            "Outer<T>::<init>: `lock cmpxchg`", 0.5,
            "Outer<T>::<init>", 0.25),
        samples.shares());
    assertEquals(Map.of(Kind.ATOMIC, 0.5, Kind.JAVA, 0.5), samples.kinds());
  }

  @Test
  @EnabledOnOs(architectures = "amd64") // for the log has its instructions
  void theWayIntoCIsToldApartWithItsBarrier() throws Exception {
    Samples samples = of(made(0x1000), made(0x1008), made(0x1008), made(0x1008));
    assertEquals(
        Map.of(
            "into C and back, metrale_call", 0.25,
            "into C and back, metrale_call: `lock addl`", 0.75),
        samples.shares());
    assertEquals(Map.of(Kind.CROSSING, 1.0), samples.kinds());
  }

  @Test
  void whatIsInNoMethodIsTheJvmsOrALibrarys() throws Exception {
    Samples samples =
        of(
            made(0x3000),
            new Sample(THREAD, 1, "do_syscall_64", "[kernel.kallsyms]"),
            new Sample(THREAD, 2, "Java_x", "/x/libjnimetralecuda.so"),
            new Sample(THREAD, 3, "cuCall", "/x/libcuda.so.1"),
            new Sample("other", 4, "cuCall", "/x/libcuda.so.1"));
    assertEquals(4, samples.total());
    assertEquals(
        Map.of(Kind.JVM, 0.25, Kind.KERNEL, 0.25, Kind.GLUE, 0.25, Kind.LIBRARIES, 0.25),
        samples.kinds());
    assertTrue(samples.shares().containsKey("libcuda.so.1 cuCall"), samples.shares().toString());
  }
}
