package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** Hosts where our own glue is hard to load: little may be written, much happens at once. */
@Tag("native")
final class SurroundingsTest {
  private static final int JVMS_AT_ONCE = 8;
  private static final Path NEWER_JDK = ForkedJvm.newerJdk();

  private final Path full = Fakes.file("full", NativeLibrary.NCCL);

  @TempDir Path folder;

  @Test
  void worksWhereTheHomeCannotBeWritten() throws Exception {
    assertOpened(
        packed("ask:nccl")
            .property("user.home", "/proc/no-home")
            .property("java.io.tmpdir", folder)
            .run());
  }

  @Test
  void saysHowToNameAFolderWhereNothingCanBeWritten() throws Exception {
    ForkedJvm nowhere =
        packed("ask:nccl")
            .property("user.home", "/proc/no-home")
            .property("java.io.tmpdir", "/proc/no-tmp");
    ForkedJvm.Result result = nowhere.run().succeeded();
    assertEquals("false", result.value("available"));
    assertTrue(result.value("cause").contains("org.bytedeco.javacpp.cachedir"), result.output());
    assertOpened(nowhere.property("org.bytedeco.javacpp.cachedir", folder.resolve("cache")).run());
  }

  @Test
  @DisabledIfSystemProperty(
      named = "metrale.slower",
      matches = ".+",
      disabledReason = "an emulated processor reads what the kernel would refuse to execute")
  void saysHowToNameAFolderWhereNothingCanBeExecuted() throws Exception {
    Path cache = Files.createDirectory(folder.resolve("noexec"));
    ForkedJvm.Result result =
        packed("ask:nccl")
            .by(OwnMount.withoutExecution(cache))
            .property("org.bytedeco.javacpp.cachedir", cache)
            .run()
            .succeeded();
    assertEquals("false", result.value("available"));
    assertTrue(result.value("cause").contains("org.bytedeco.javacpp.cachedir"), result.output());
  }

  @Test
  void startsInManyJvmsAtOnce() throws Exception {
    ForkedJvm jvm =
        packed("ask:nccl").property("org.bytedeco.javacpp.cachedir", folder.resolve("cache"));
    List<ForkedJvm.Running> all = new ArrayList<>();
    for (int i = 0; i < JVMS_AT_ONCE; i++) {
      all.add(jvm.start());
    }
    for (ForkedJvm.Running one : all) {
      assertOpened(one.await());
    }
  }

  @Test
  void runsOnTheClassPathWhereNativeAccessMustBeEnabled() throws Exception {
    assumeTrue(Files.exists(NEWER_JDK), "no Java 24 or later here: run cppbuild.sh java25");
    ForkedJvm.Result result =
        probe("ask:nccl", "call:nccl")
            .home(NEWER_JDK)
            .options("--illegal-native-access=deny", "--enable-native-access=ALL-UNNAMED")
            .run();
    assertOpened(result);
    assertTrue(result.output().lines().noneMatch(line -> line.contains("WARNING")));
  }

  @Test
  void runsOnTheModulePathWhereNativeAccessMustBeEnabled() throws Exception {
    assumeTrue(Files.exists(NEWER_JDK), "no Java 24 or later here: run cppbuild.sh java25");
    assertOpened(
        onModulePath(NEWER_JDK)
            .options(
                "--illegal-native-access=deny",
                "--enable-native-access=org.metrale.gpu,org.bytedeco.javacpp")
            .run());
  }

  @Test
  void runsOnTheModulePathOfThisJdk() throws Exception {
    assertOpened(onModulePath(Path.of(System.getProperty("java.home"))).run());
  }

  @Test
  void givesTheJvmsOwnChecksNothingToSay() throws Exception {
    probe("ask:nccl", "call:nccl", "ask:nvml", "call:nvml")
        .property("org.metrale.nvml.path", folder.resolve("nothing.so"))
        .options(JniWarnings.options(folder).toArray(String[]::new))
        .run()
        .succeeded();
    List<Path> logs;
    try (Stream<Path> files = Files.list(folder)) {
      logs = files.filter(file -> file.toString().endsWith(".log")).toList();
    }
    assertEquals(1, logs.size());
    String log = Files.readString(logs.get(0));
    assertTrue(log.contains("-Xcheck:jni"), log);
    assertEquals(
        List.of(),
        log.lines()
            .filter(line -> line.matches("(WARNING|FATAL ERROR)( in native|: JNI).*"))
            .toList());
  }

  /** The probe as a class of the module, everything else as modules of their own. */
  private ForkedJvm onModulePath(Path jdk) throws IOException {
    return ModulePath.running(LoaderProbe.class, folder, "ask:nccl", "call:nccl")
        .home(jdk)
        .property("org.metrale.nccl.path", full);
  }

  private ForkedJvm probe(String... commands) {
    return ForkedJvm.running(LoaderProbe.class, commands).property("org.metrale.nccl.path", full);
  }

  /** With the glue in a jar, as users have it. */
  private ForkedJvm packed(String... commands) throws IOException {
    List<String> entries = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
      Path path = Path.of(entry);
      entries.add(
          path.endsWith(Fakes.platform()) ? ModulePath.jar(path, folder).toString() : entry);
    }
    return probe(commands).classPath(entries.toArray(String[]::new));
  }

  private void assertOpened(ForkedJvm.Result result) {
    result.succeeded();
    assertEquals("true", result.value("available"), result.output());
    assertEquals(full.toString(), result.value("file"));
  }
}
