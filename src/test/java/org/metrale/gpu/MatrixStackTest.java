package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;

/**
 * What the product runs on top of: other versions of JavaCPP, other Javas, older systems. Its own
 * tests run there, over the software GPU host.
 */
@Tag("matrix")
final class MatrixStackTest {
  private static final List<String> TESTS =
      List.of(
          "cuda.CudaStreamTest",
          "nccl.NcclCommunicatorTest",
          "nccl.NcclOperationsTest",
          "nvml.NvmlEmulatorTest",
          "cufile.CuFileEmulatorTest",
          "verbs.VerbsTransferTest",
          "nvtx.NvtxDomainTest",
          "LayoutTest",
          "SignatureTypesTest");

  /** What also runs where the processor is emulated. */
  private static final List<String> FEW_TESTS = List.of("SignatureTypesTest");

  private static final Pattern PASSED = Pattern.compile("\\[ +(\\d+) tests successful +]");

  @TestFactory
  Stream<DynamicTest> javacpp() throws IOException {
    return MatrixRow.tests("javacpp", MatrixStackTest::javacpp);
  }

  @TestFactory
  Stream<DynamicTest> olderJavacpp() throws IOException {
    return MatrixRow.tests("javacpp-older", MatrixStackTest::olderJavacpp);
  }

  @TestFactory
  Stream<DynamicTest> java() throws IOException {
    return MatrixRow.tests("java", MatrixStackTest::java);
  }

  @TestFactory
  Stream<DynamicTest> system() throws IOException {
    return MatrixRow.tests("system", MatrixStackTest::system);
  }

  private static void javacpp(MatrixRow row, Map<String, String> facts) throws Exception {
    facts.put("org.bytedeco:cuda", row.version());
    ForkedJvm.Result who =
        ForkedJvm.running(LoaderProbe.class, "javacpp").classPath(with(row.stage())).run();
    assertEquals(row.name(), who.succeeded().value("javacpp"));
    facts.put("tests passed", passed(tests(TESTS).classPath(with(row.stage()))));
  }

  /**
   * What is too old is refused before anything is loaded, in words that say what to use instead.
   */
  private static void olderJavacpp(MatrixRow row, Map<String, String> facts) throws Exception {
    facts.put("org.bytedeco:cuda", row.version());
    ForkedJvm.Result asked =
        ForkedJvm.running(LoaderProbe.class, "javacpp", "ask:nccl", "ask:nvml", "ask:ibverbs")
            .classPath(with(row.stage()))
            .property(
                "org.metrale.nccl.path",
                Fakes.folder(Fakes.platform(), "full").resolve("libnccl.so.2"))
            .run()
            .succeeded();
    assertEquals(row.name(), asked.value("javacpp"));
    assertEquals(List.of("false", "false", "false"), asked.values("available"), asked.output());
    assertEquals(-1, asked.output().indexOf("Warning"), asked.output());
    String said =
        "JavaCPP " + row.name() + " is on the class path; 1.5.10 to 1.5.14 are known to work";
    assertTrue(asked.output().contains(said), asked.output());
    facts.put("refused", said);
  }

  private static void java(MatrixRow row, Map<String, String> facts) throws Exception {
    Path home = "host".equals(row.name()) ? Path.of(System.getProperty("java.home")) : row.stage();
    ForkedJvm.Result who = ForkedJvm.running(LoaderProbe.class, "java").home(home).run();
    facts.put("version", who.succeeded().value("java"));
    int feature = Integer.parseInt(who.value("java").replaceFirst("\\..*", ""));
    List<String> denied =
        feature >= 24 ? List.of("--illegal-native-access=deny") : List.<String>of();
    Path fake = Fakes.file("full", NativeLibrary.NCCL);
    ForkedJvm.Result onClassPath =
        allowed(
                ForkedJvm.running(LoaderProbe.class, "ask:nccl", "call:nccl"),
                feature,
                "ALL-UNNAMED")
            .options(denied.toArray(String[]::new))
            .home(home)
            .property("org.metrale.nccl.path", fake)
            .run();
    assertEquals("true", onClassPath.succeeded().value("available"), onClassPath.output());
    facts.put("class path", denied.isEmpty() ? "works" : "works, other native access denied");
    ForkedJvm.Result onModulePath =
        allowed(
                ModulePath.running(
                    LoaderProbe.class,
                    Files.createTempDirectory("modules"),
                    "ask:nccl",
                    "call:nccl"),
                feature,
                "org.metrale.gpu,org.bytedeco.javacpp")
            .options(denied.toArray(String[]::new))
            .home(home)
            .property("org.metrale.nccl.path", fake)
            .run();
    assertEquals("true", onModulePath.succeeded().value("available"), onModulePath.output());
    facts.put("module path", denied.isEmpty() ? "works" : "works, other native access denied");
    facts.put("tests passed", passed(allowed(tests(TESTS), feature, "ALL-UNNAMED").home(home)));
  }

  private static void system(MatrixRow row, Map<String, String> facts) throws Exception {
    boolean arm = "arm64".equals(row.version());
    String platform = arm ? "linux-arm64" : "linux-x86_64";
    Path root = row.stage();
    MatrixRow old = MatrixRow.of("javacpp").get(1);
    MatrixRow newest = MatrixRow.of("javacpp").get(MatrixRow.of("javacpp").size() - 1);
    ForkedJvm.Result works =
        inside(
                root,
                platform,
                ForkedJvm.running(LoaderProbe.class, "java", "libc", "javacpp", "ask:nccl"),
                old)
            .property(
                "org.metrale.nccl.path", Fakes.folder(platform, "full").resolve("libnccl.so.2"))
            .run()
            .succeeded();
    assertEquals("true", works.value("available"), works.output());
    assertEquals(old.name(), works.value("javacpp"));
    facts.put("C library", works.value("libc"));
    facts.put("Java", works.value("java"));
    facts.put("with JavaCPP " + newest.name(), newest(root, platform, newest));
    facts.put(
        "tests passed with JavaCPP " + old.name(),
        passed(
            inside(root, platform, tests(arm ? FEW_TESTS : withoutCompiler()), old)
                .property("metrale.platform", platform)
                .property(
                    "org.metrale.library.path",
                    Fakes.repository().resolve("cppbuild/" + platform + "/emulator"))
                .property("metrale.slower", arm ? 20 : 1)
                .deadline(Duration.ofMinutes(20))));
  }

  /**
   * What comes of a JavaCPP whose own binaries this system cannot load: our glue carries what it
   * needs of them.
   */
  private static String newest(Path root, String platform, MatrixRow newest) throws Exception {
    ForkedJvm.Result result =
        inside(root, platform, ForkedJvm.running(LoaderProbe.class, "javacpp", "ask:nccl"), newest)
            .property(
                "org.metrale.nccl.path", Fakes.folder(platform, "full").resolve("libnccl.so.2"))
            .run()
            .succeeded();
    assertEquals(newest.name(), result.value("javacpp"));
    assertEquals("true", result.value("available"), result.output());
    return "the library is found all the same";
  }

  /** In a root folder, with that system's Java; of another processor in an emulator of it. */
  private static ForkedJvm inside(Path root, String platform, ForkedJvm jvm, MatrixRow javacpp)
      throws Exception {
    Path cache = root.getParent().getParent();
    String arch = platform.endsWith("arm64") ? "arm64" : "amd64";
    if (platform.endsWith("arm64")) {
      jvm.environment("METRALE_QEMU", cache.resolve("arm64/system/usr/bin/qemu-aarch64-static"));
    }
    List<String> entries = new ArrayList<>();
    for (String entry : with(javacpp.stage(), platform)) {
      entries.add(entry.replace("/native/" + Fakes.platform(), "/native/" + platform));
    }
    return jvm.by(
            Fakes.repository().resolve("src/build/matrix/enter.sh").toString(), root.toString())
        .home(Path.of("/usr/lib/jvm/java-17-openjdk-" + arch))
        .classPath(entries.toArray(String[]::new))
        .environment("METRALE_SEEN", seen(entries))
        .options("-Djdk.lang.Process.launchMechanism=FORK");
  }

  /** The repository and the folders that the class path lies in, each once. */
  private static String seen(List<String> entries) {
    List<String> out = new ArrayList<>(List.of(Fakes.repository().toString()));
    for (String entry : entries) {
      String folder = Path.of(entry).toAbsolutePath().getParent().toString();
      if (out.stream().noneMatch(known -> folder.equals(known) || folder.startsWith(known + "/"))) {
        out.add(folder);
      }
    }
    return String.join(":", out);
  }

  /** An old system has no compiler of ours. */
  private static List<String> withoutCompiler() {
    return TESTS.stream().filter(name -> !name.equals("LayoutTest")).toList();
  }

  private static ForkedJvm allowed(ForkedJvm jvm, int feature, String modules) {
    return feature >= 22 ? jvm.options("--enable-native-access=" + modules) : jvm;
  }

  private static ForkedJvm tests(List<String> names) {
    List<String> arguments =
        new ArrayList<>(
            List.of("execute", "--disable-banner", "--details=summary", "--disable-ansi-colors"));
    for (String name : names) {
      arguments.addAll(List.of("--select-class", "org.metrale.gpu." + name));
    }
    ForkedJvm out =
        ForkedJvm.running(
                "org.junit.platform.console.ConsoleLauncher", arguments.toArray(String[]::new))
            .environment("METRALE_EMULATOR_GPUS", 8)
            .deadline(Duration.ofMinutes(10));
    for (String name :
        List.of(
            "metrale.basedir", "metrale.native", "metrale.platform", "org.metrale.library.path")) {
      out.property(name, System.getProperty(name));
    }
    return out;
  }

  private static String passed(ForkedJvm jvm) throws Exception {
    ForkedJvm.Result result = jvm.run();
    Matcher count = PASSED.matcher(result.output());
    assertTrue(result.exit() == 0 && count.find(), result.output());
    assertTrue(Integer.parseInt(count.group(1)) > 0, result.output());
    return count.group(1);
  }

  private static String[] with(Path jars) throws IOException {
    return with(jars, Fakes.platform());
  }

  /** The class path of the tests with other bytedeco jars. */
  private static String[] with(Path jars, String platform) throws IOException {
    List<String> out = new ArrayList<>();
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
      if (!entry.contains("/org/bytedeco/")) {
        out.add(entry);
      }
    }
    try (Stream<Path> files = Files.list(jars)) {
      for (Path file : files.sorted().toList()) {
        String name = file.getFileName().toString();
        if (name.endsWith(".jar") && (!name.contains("-linux-") || name.contains(platform))) {
          out.add(file.toString());
        }
      }
    }
    return out.toArray(String[]::new);
  }
}
