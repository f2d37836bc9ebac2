package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every vendor library and every older header of {@code src/build/matrix/versions.txt}, on a
 * machine without a GPU.
 */
@Tag("matrix")
final class MatrixTest {
  private static final List<String> NCCL_TEXTS =
      List.of(
          "no error",
          "unhandled cuda error",
          "unhandled system error",
          "internal error",
          "invalid argument",
          "invalid usage",
          "remote process exited",
          "NCCL operation in progress");

  @TempDir Path folder;

  @TestFactory
  Stream<DynamicTest> nccl() throws IOException {
    return MatrixRow.tests("nccl", this::nccl);
  }

  @TestFactory
  Stream<DynamicTest> cuFile() throws IOException {
    return MatrixRow.tests("cufile", this::cuFile);
  }

  @TestFactory
  Stream<DynamicTest> nvml() throws IOException {
    return MatrixRow.tests("nvml", this::nvml);
  }

  @TestFactory
  Stream<DynamicTest> cuda() throws IOException {
    return MatrixRow.tests("cuda", this::cuda);
  }

  @TestFactory
  Stream<DynamicTest> header() throws IOException {
    return MatrixRow.tests(
        "header",
        (row, facts) -> OlderHeader.check(row, Files.createTempDirectory(folder, "header"), facts));
  }

  private void nccl(MatrixRow row, Map<String, String> facts) throws Exception {
    Path file = row.stage().resolve("libnccl.so.2");
    ForkedJvm.Result result = probe("nccl", file, facts);
    assertEquals(row.version(), result.value("version"));
    assertEquals("0 0", result.value("uniqueId"));
    assertEquals("true", result.value("uniqueIdsDiffer"));
    facts.put("unique id", "made without a GPU");
    List<String> texts = result.values("text");
    for (int code = 0; code < NCCL_TEXTS.size(); code++) {
      assertTrue(texts.get(code).startsWith(NCCL_TEXTS.get(code)), texts.get(code));
    }
    facts.put("error texts", texts.size() + " known");
    assertSizes(file.resolveSibling("nccl.h"), result, facts);
    assertSupports(file, result, facts);
  }

  private void cuFile(MatrixRow row, Map<String, String> facts) throws Exception {
    Path file = row.stage().resolve("libcufile.so.0");
    ForkedJvm.Result result = probe("cufile", file, facts);
    assertTrue(row.version().startsWith(result.value("version") + "."), result.output());
    assertTrue(!result.value("text").isEmpty(), result.output());
    facts.put("error texts", result.value("text"));
    // The checked layer, since some versions do not return from opening without a GPU.
    ForkedJvm.Result opened =
        ForkedJvm.running(
                "org.metrale.gpu.cufile.CuFileScenario", "open", folder.resolve("data").toString())
            .property("org.metrale.cufile.path", file)
            .property("java.io.tmpdir", folder)
            .by("env", "-C", folder.toString())
            .run()
            .succeeded();
    assertEquals("false", opened.value("open"));
    facts.put("opened without a GPU", opened.value("cause").replaceAll(";? \\(?tried.*", ""));
    assertSizes(file.resolveSibling("cufile.h"), result, facts);
    assertSupports(file, result, facts);
  }

  private void nvml(MatrixRow row, Map<String, String> facts) throws Exception {
    Path staged = row.stage();
    facts.put("driver", row.stagedVersion(staged));
    Path file = staged.resolve("libnvidia-ml.so.1");
    ForkedJvm.Result result = probe("nvml", file, facts);
    assertEquals("9", result.value("nvmlInit_v2"));
    facts.put("started without a driver", "nvmlInit_v2: 9");
    assertEquals("Driver Not Loaded", result.value("text"));
    facts.put("error texts", result.value("text"));
    assertSupports(file, result, facts);
  }

  private void cuda(MatrixRow row, Map<String, String> facts) throws Exception {
    Path staged = row.stage();
    facts.put("driver", row.stagedVersion(staged));
    Path file = staged.resolve("libcuda.so.1");
    ForkedJvm.Result result = probe("cuda", file, facts);
    assertTrue(result.value("version").startsWith("for CUDA "), result.output());
    assertEquals("100", result.value("cuInit"));
    facts.put("started without a driver", "cuInit: 100");
    assertEquals("0", result.value("cuGetErrorName"));
    assertEquals("CUDA_ERROR_NO_DEVICE", result.value("text"));
    facts.put("error texts", result.value("text"));
    assertSupports(file, result, facts);
  }

  private static ForkedJvm.Result probe(String library, Path file, Map<String, String> facts)
      throws Exception {
    ForkedJvm.Result result =
        ForkedJvm.running(MatrixProbe.class, library)
            .property("org.metrale." + library + ".path", file)
            .run()
            .succeeded();
    assertEquals(file.toString(), result.value("file"));
    facts.put("says of itself", result.value("version"));
    return result;
  }

  /** What {@code supports} says of each function of the header against what nm finds. */
  private static void assertSupports(Path file, ForkedJvm.Result result, Map<String, String> facts)
      throws Exception {
    Set<String> exported = new TreeSet<>();
    for (String line : output("nm", "-D", "--defined-only", file.toString()).split("\n")) {
      exported.add(line.replaceFirst(".* ", "").replaceFirst("@.*", ""));
    }
    Set<String> has = new TreeSet<>(result.values("has"));
    Set<String> lacks = new TreeSet<>(result.values("lacks"));
    assertEquals(
        List.of(),
        has.stream().filter(name -> !exported.contains(name)).toList(),
        "supported, but not exported");
    assertEquals(
        List.of(), lacks.stream().filter(exported::contains).toList(), "exported, but missing");
    facts.put("functions", has.size() + " of " + (has.size() + lacks.size()));
  }

  /** The sizes that the probe told, against those that the library's own header gives. */
  private void assertSizes(Path header, ForkedJvm.Result result, Map<String, String> facts)
      throws Exception {
    List<String> types =
        result
            .output()
            .lines()
            .filter(line -> line.startsWith("sizeof "))
            .map(line -> line.substring("sizeof ".length(), line.indexOf('=')))
            .toList();
    StringBuilder source = new StringBuilder("#include <stdio.h>\n");
    source.append("#include \"").append(header).append("\"\nint main(void) {\n");
    for (String type : types) {
      source.append("printf(\"%zu\\n\", sizeof(").append(type).append("));\n");
    }
    Path program = folder.resolve("sizes.c");
    Files.writeString(program, source.append("return 0; }\n"));
    Path build = Fakes.repository().resolve("cppbuild");
    output(
        build.resolve("bin/cc-" + Fakes.platform()).toString(),
        "-w",
        "-I" + build.resolve("include"),
        "-o",
        folder.resolve("sizes").toString(),
        program.toString());
    List<String> sizes = List.of(output(folder.resolve("sizes").toString()).trim().split("\n"));
    List<String> told = new ArrayList<>();
    for (int i = 0; i < types.size(); i++) {
      assertEquals(sizes.get(i), result.value("sizeof " + types.get(i)), types.get(i));
      told.add(types.get(i) + " " + sizes.get(i));
    }
    facts.put("structures as in its header", String.join(", ", told));
  }

  private static String output(String... command) throws Exception {
    Path out = Files.createTempFile("matrix", ".txt");
    Process process =
        new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(out.toFile()).start();
    assertTrue(process.waitFor(2, TimeUnit.MINUTES), () -> command[0] + " does not end");
    String text = Files.readString(out);
    Files.delete(out);
    assertEquals(0, process.exitValue(), text);
    return text;
  }
}
