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

/**
 * The glue of one library as a header makes it, against fakes of the same header's functions: each
 * of them absent, and libraries that are older and newer than the header.
 */
final class HeaderSkew {
  private static final String PLATFORM = Fakes.platform();

  private final RegenerateTree tree;
  private final String library;
  private final Path classes;
  private final Path glue;
  private final Path fakes;
  private final Path work;

  /** For a tree that was regenerated, and the classes compiled from it. */
  HeaderSkew(RegenerateTree tree, String library, Path folder, Path classes) throws IOException {
    this.tree = tree;
    this.library = library;
    this.classes = classes;
    this.glue = Files.createDirectories(folder.resolve("glue"));
    this.fakes = folder.resolve("fakes");
    this.work = Files.createDirectories(folder.resolve("work"));
  }

  /** As the build does, but for this platform alone and without optimising. */
  void compileGlue(Path header) throws Exception {
    tree.succeed(
        List.of(
            OlderHeader.tool("java"),
            "-cp",
            classes + File.pathSeparator + RegenerateTree.libraries(),
            "org.bytedeco.javacpp.tools.Builder",
            "-classpath",
            classes.toString(),
            "-properties",
            PLATFORM,
            "-nocompile",
            "-nodelete",
            "-d",
            glue.toString(),
            "org.metrale.global." + library,
            "org.metrale." + library + ".*"));
    List<String> command = new ArrayList<>();
    command.add(build().resolve("bin/c++-" + PLATFORM).toString());
    // The options of the recipes.
    command.addAll(List.of("-std=c++17", "-O0", "-w", "-fPIC", "-shared", "-fvisibility=hidden"));
    command.addAll(List.of("-DNVML_NO_UNVERSIONED_FUNC_DEFS", "-DNCCL_OS_LINUX"));
    command.add("-Wl,--version-script=" + tree.root().resolve("src/build/exports.map"));
    Path jdk = Path.of(System.getProperty("java.home"), "include");
    for (Path include :
        List.of(
            header,
            build().resolve("include"),
            tree.root().resolve("src/main/resources/org/metrale/include"),
            tree.root().resolve("src/gen/include"),
            jdk,
            jdk.resolve("linux"))) {
      command.add("-I" + include);
    }
    command.addAll(List.of("-o", file().toString()));
    command.add(glue.resolve("jnimetrale" + library + ".cpp").toString());
    command.add(glue.resolve("jnijavacpp.cpp").toString());
    Files.createDirectories(file().getParent());
    tree.succeed(command);
  }

  /** Calls every function, and writes down how many were refused and how many answered. */
  void prove(int functions, Map<String, String> facts) throws Exception {
    makeFakes();
    ForkedJvm.Result absent = run("full");
    assertEquals(functions, number(absent, "bound"));
    assertEquals(functions, number(absent, "withoutLibrary"), absent.output());
    assertEquals(functions, number(absent, "withoutSymbol"), absent.output());
    facts.put("absent functions", "each refused");
    ForkedJvm.Result older = run("older", "as-it-is");
    assertEquals(functions, number(older, "answered") + number(older, "refused"), older.output());
    assertTrue(number(older, "refused") > 0, older.output());
    facts.put(
        "with an older library",
        number(older, "answered") + " answer, " + number(older, "refused") + " refused");
    ForkedJvm.Result newer = run("newer", "as-it-is");
    assertEquals(functions, number(newer, "answered"), newer.output());
    facts.put("with a newer library", number(newer, "answered") + " answer");
  }

  /** The fakes as ever, but of the functions that this header has. */
  private void makeFakes() throws Exception {
    List<String> configure = new ArrayList<>();
    configure.add(build().resolve("bin/cmake").toString());
    configure.addAll(List.of("-G", "Ninja", "-B", fakes.toString(), "-S"));
    configure.add(Fakes.repository().resolve("src/test/c/fakes").toString());
    configure.add("-DCMAKE_MAKE_PROGRAM=" + build().resolve("bin/ninja").toRealPath());
    configure.add("-DCMAKE_C_COMPILER=" + build().resolve("bin/cc-" + PLATFORM));
    configure.add("-DMETRALE_LISTS=" + tree.root().resolve("src/gen/include"));
    tree.succeed(configure);
    List<String> make = new ArrayList<>();
    make.addAll(List.of(build().resolve("bin/ninja").toString(), "-C", fakes.toString()));
    for (String variant : List.of("full", "older", "newer")) {
      make.add("fake_" + library + "_" + variant);
    }
    tree.succeed(make);
  }

  private ForkedJvm.Result run(String variant, String... more) throws Exception {
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of(library, fakes.resolve(variant).toString()));
    arguments.addAll(List.of(file().getParent().toString(), work.toString()));
    arguments.addAll(List.of(more));
    List<String> entries = new ArrayList<>();
    entries.addAll(List.of(classes.toString(), glue.toString()));
    entries.add(tree.root().resolve("src/main/resources").toString());
    // Neither classes nor glue of the newest header.
    entries.addAll(List.of(ForkedJvm.classPathWithout("/target/classes", "/target/native")));
    ForkedJvm.Result result =
        ForkedJvm.running(AbsentFunctions.class, arguments.toArray(String[]::new))
            .classPath(entries.toArray(String[]::new))
            .deadline(Duration.ofMinutes(5))
            .run()
            .succeeded();
    assertEquals(List.of(), result.values("wrong"));
    return result;
  }

  private static int number(ForkedJvm.Result result, String key) {
    return Integer.parseInt(result.value(key));
  }

  private Path file() {
    return glue.resolve("org/metrale")
        .resolve(PLATFORM + "-cuda")
        .resolve("libjnimetrale" + library + ".so");
  }

  private Path build() {
    return tree.root().resolve("cppbuild");
  }
}
