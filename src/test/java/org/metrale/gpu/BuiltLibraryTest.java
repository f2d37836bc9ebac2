package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The glue as built, for both platforms: what it asks of the system that it will be loaded on. */
@Tag("native")
final class BuiltLibraryTest {
  private static final String NEWEST_GLIBC = "2.28";
  private static final long LARGEST_JAR_BYTES = 2 << 20;
  private static final Set<String> LIBRARIES =
      Set.of("cuda", "nccl", "nvml", "cufile", "nvtx", "verbs");

  /** The C library and the parts that it was split into before glibc 2.34. */
  private static final Set<String> ALLOWED =
      Set.of(
          "libc.so.6",
          "libm.so.6",
          "libdl.so.2",
          "libpthread.so.0",
          "librt.so.1",
          "ld-linux-x86-64.so.2",
          "ld-linux-aarch64.so.1");

  @ParameterizedTest
  @ValueSource(strings = {"linux-x86_64", "linux-arm64"})
  void areThereForEveryLibraryAndThatMachine(String platform) throws IOException {
    Set<String> names = new TreeSet<>();
    for (Path file : files(platform)) {
      names.add(file.getFileName().toString());
      int machine = platform.endsWith("arm64") ? ElfFile.ARM64 : ElfFile.X86_64;
      assertEquals(machine, ElfFile.read(file).machine(), file::toString);
    }
    assertEquals(
        LIBRARIES.stream()
            .map(library -> "libjnimetrale" + library + ".so")
            .collect(Collectors.toCollection(TreeSet::new)),
        names);
  }

  @ParameterizedTest
  @ValueSource(strings = {"linux-x86_64", "linux-arm64"})
  void needNothingButPartsOfTheCLibrary(String platform) throws IOException {
    for (Path file : files(platform)) {
      assertEquals(
          List.of(),
          ElfFile.read(file).needed().stream().filter(name -> !ALLOWED.contains(name)).toList(),
          file::toString);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"linux-x86_64", "linux-arm64"})
  void runOnGlibcOfTheOldestSystem(String platform) throws IOException {
    for (Path file : files(platform)) {
      Set<String> versions = ElfFile.read(file).versionsNeeded();
      assertFalse(versions.isEmpty(), file::toString);
      for (String version : versions) {
        assertTrue(version.startsWith("GLIBC_"), () -> file + " needs " + version);
        assertTrue(
            isAtMost(version.substring("GLIBC_".length())), () -> file + " needs " + version);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"linux-x86_64", "linux-arm64"})
  void exportOnlyWhatTheJvmLooksFor(String platform) throws IOException {
    for (Path file : files(platform)) {
      Set<String> exports = ElfFile.read(file).exports();
      assertFalse(exports.isEmpty(), file::toString);
      assertEquals(
          List.of(),
          exports.stream().filter(name -> !name.matches("Java_.*|JNI_On(Unl|L)oad.*")).toList(),
          file::toString);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"linux-x86_64", "linux-arm64"})
  void areHardenedAndSearchNowhere(String platform) throws IOException {
    for (Path file : files(platform)) {
      ElfFile library = ElfFile.read(file);
      assertTrue(library.hasRelro(), file::toString);
      assertTrue(library.bindsAtOnce(), file::toString);
      assertFalse(library.hasExecutableStack(), file::toString);
      assertFalse(library.hasTextRelocations(), file::toString);
      assertFalse(library.needsStaticThreadLocals(), file::toString);
      assertEquals(List.of(), library.searchPaths(), file::toString);
    }
  }

  @ParameterizedTest
  @CsvSource({"linux-x86_64, 4096", "linux-arm64, 65536"})
  void canBeMappedByKernelsWithTheLargestPages(String platform, long pageBytes) throws IOException {
    for (Path file : files(platform)) {
      ElfFile library = ElfFile.read(file);
      assertTrue(library.segmentAlignment() >= pageBytes, file::toString);
      assertEquals(0, library.relroEnd() % pageBytes, () -> file + " loses its protection");
    }
    Path emulator = Fakes.repository().resolve("cppbuild/" + platform + "/emulator");
    try (Stream<Path> libraries = Files.list(emulator)) {
      for (Path file :
          libraries.filter(one -> one.getFileName().toString().startsWith("lib")).toList()) {
        assertTrue(ElfFile.read(file).segmentAlignment() >= pageBytes, file::toString);
      }
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"linux-x86_64", "linux-arm64"})
  void fitIntoASmallJar(String platform) throws IOException {
    ByteArrayOutputStream jar = new ByteArrayOutputStream();
    try (ZipOutputStream out = new ZipOutputStream(jar)) {
      for (Path file : files(platform)) {
        out.putNextEntry(new ZipEntry(file.getFileName().toString()));
        Files.copy(file, out);
      }
    }
    assertTrue(jar.size() <= LARGEST_JAR_BYTES, jar.size() + " bytes");
  }

  @ParameterizedTest
  @ValueSource(strings = {"linux-x86_64", "linux-arm64"})
  void comeWithWhatANativeImageHasToKnow(String platform) throws IOException {
    Path root = Fakes.glue(platform).getParent().getParent().getParent();
    for (String library : LIBRARIES) {
      Path folder =
          root.resolve("META-INF/native-image")
              .resolve(platform + "-cuda")
              .resolve("jnimetrale" + library);
      for (String kind : List.of("jni", "reflect")) {
        String known = Files.readString(folder.resolve(kind + "-config.json"));
        assertTrue(known.contains("\"org.metrale.global." + library + "\""), known);
      }
      String resources = Files.readString(folder.resolve("resource-config.json"));
      assertTrue(resources.contains("libjnimetrale" + library + ".so"), resources);
    }
    assertTrue(Files.exists(root.resolve("module-info.class")), root::toString);
  }

  private static boolean isAtMost(String version) {
    String[] parts = version.split("\\.");
    String[] limit = NEWEST_GLIBC.split("\\.");
    int major = Integer.compare(Integer.parseInt(parts[0]), Integer.parseInt(limit[0]));
    return major < 0 || major == 0 && Integer.parseInt(parts[1]) <= Integer.parseInt(limit[1]);
  }

  private static List<Path> files(String platform) throws IOException {
    try (Stream<Path> files = Files.list(Fakes.glue(platform))) {
      return files.filter(file -> file.toString().endsWith(".so")).sorted().toList();
    }
  }
}
