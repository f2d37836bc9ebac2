package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Real vendor libraries of several versions, on a machine without a GPU. */
@Tag("real")
final class RealLibraryTest {
  private static final Path REAL = Fakes.repository().resolve("cppbuild/real");

  @TempDir Path folder;

  static List<Path> ncclLibraries() throws IOException {
    return libraries("libnccl.so.2");
  }

  static List<Path> nvmlLibraries() throws IOException {
    return libraries("libnvidia-ml.so.1");
  }

  static List<Path> cudaLibraries() throws IOException {
    return libraries("libcuda.so.1");
  }

  @ParameterizedTest
  @MethodSource("ncclLibraries")
  void ncclTellsItsVersionAndWhatItLacks(Path file) throws Exception {
    ForkedJvm.Result result = probe("nccl", file).run().succeeded();
    String folderName = file.getParent().getFileName().toString();
    assertEquals(folderName.substring(folderName.lastIndexOf('-') + 1), result.value("version"));
    assertEquals("0", result.value("ncclGetUniqueId"));
    assertEquals("1", result.value("ncclCommInitRank"));
    assertEquals("unhandled cuda error", result.value("text").split(" \\(", -1)[0]);
    assertSupportsWhatItExports(file, result);
  }

  /** From 2.29 on it throws; the older ones answer. */
  @ParameterizedTest
  @MethodSource("ncclLibraries")
  void ncclThatGetsNoThreadIsAFailureAndNotTheEnd(Path file) throws Exception {
    Path preloaded =
        Fakes.folder("full").resolveSibling("../throwing/libmetrale_no_threads.so").normalize();
    assertTrue(Files.exists(preloaded), preloaded.toString());
    ForkedJvm.Result result =
        probe("nccl", file).environment("LD_PRELOAD", preloaded).run().succeeded();
    String[] version = result.value("version").split("\\.", -1);
    String said = result.value("ncclGetUniqueId");
    if (Integer.parseInt(version[1]) >= 29) {
      assertEquals(
          "ncclGetUniqueId: NCCL at "
              + file
              + " threw a C++ exception, std::system_error: Resource temporarily unavailable; its"
              + " state is unknown from here on",
          said);
    } else {
      assertEquals("2", said);
    }
    assertEquals("1", result.value("ncclCommInitRank"));
  }

  @Test
  void anOlderNcclNamesTheFunctionItselfAndTheFirstVersionThatHasIt() throws Exception {
    Path oldest = ncclLibraries().get(0);
    ForkedJvm.Result result = probe("nccl", oldest).run().succeeded();
    assertEquals(
        "ncclCommSuspend: not in " + oldest + " (NCCL 2.18.3); it is there from NCCL 2.29.7 on",
        result.value("suspend"));
  }

  @ParameterizedTest
  @MethodSource("nvmlLibraries")
  void nvmlSaysThatNoDriverIsLoaded(Path file) throws Exception {
    ForkedJvm.Result result = probe("nvml", file).run().succeeded();
    assertEquals("9", result.value("nvmlInit_v2"));
    assertSupportsWhatItExports(file, result);
  }

  @ParameterizedTest
  @MethodSource("cudaLibraries")
  void cudaSaysThatThereIsNoDevice(Path file) throws Exception {
    ForkedJvm.Result result = probe("cuda", file).run().succeeded();
    assertEquals("100", result.value("cuInit"));
    assertTrue(result.value("version").startsWith("for CUDA 1"), result.output());
    assertSupportsWhatItExports(file, result);
  }

  @Test
  void cuFileSaysWhetherItFoundTheDriverOrNoDevice() throws Exception {
    Path file = REAL.resolve("nvidia-cufile-1.15.0.42/libcufile.so.0");
    // It writes its log into the working folder, which is left out here by a wrapper that changes
    // it.
    ForkedJvm.Result without = in(folder, probe("cufile", file)).run().succeeded();
    assertEquals("5033 0", without.value("cuFileDriverOpen"));
    assertEquals("1.15", without.value("version"));
    assertSupportsWhatItExports(file, without);
    ForkedJvm.Result with =
        in(folder, probe("cufile", file))
            .environment("LD_LIBRARY_PATH", cudaLibraries().get(0).getParent())
            .run()
            .succeeded();
    assertEquals("5011 100", with.value("cuFileDriverOpen"));
  }

  private static ForkedJvm probe(String library, Path file) {
    return ForkedJvm.running(RealLibraryProbe.class, library)
        .property("org.metrale." + library + ".path", file);
  }

  private static ForkedJvm in(Path folder, ForkedJvm jvm) {
    return jvm.by("env", "-C", folder.toString());
  }

  private static void assertSupportsWhatItExports(Path file, ForkedJvm.Result result)
      throws IOException {
    assertEquals(List.of(), result.values("contradiction"));
    Set<String> exported = ElfFile.read(file).exports();
    Set<String> has = new TreeSet<>(result.values("has"));
    Set<String> lacks = new TreeSet<>(result.values("lacks"));
    assertTrue(exported.containsAll(has), "claims more than it exports");
    assertTrue(lacks.stream().noneMatch(exported::contains), "claims less than it exports");
    assertEquals(result.value("missing"), Integer.toString(lacks.size()));
  }

  /** The libraries of a name that were staged, by the names of their folders; none is an error. */
  private static List<Path> libraries(String soname) throws IOException {
    try (Stream<Path> folders = Files.list(REAL)) {
      List<Path> found =
          folders.map(folder -> folder.resolve(soname)).filter(Files::exists).sorted().toList();
      if (found.isEmpty()) {
        throw new IllegalStateException("no " + soname + " in " + REAL + ": run cppbuild.sh real");
      }
      return found;
    }
  }
}
