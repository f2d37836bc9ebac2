package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What is committed under src/gen is what the recipes make of the staged headers, byte for byte.
 */
@Tag("native")
@Tag("full")
final class GeneratedSourcesTest {
  @TempDir Path folder;

  @Test
  void comeOutOfTheRecipesAsTheyAreCommitted() throws Exception {
    assertMadeBy(Path.of(System.getProperty("java.home")));
  }

  /** The classes are those that the older one compiled: the newer has no compiler here. */
  @Test
  void comeOutTheSameOnANewerJava() throws Exception {
    Path newer = ForkedJvm.newerJdk();
    assumeTrue(Files.exists(newer), "no Java 24 or later here: run cppbuild.sh java25");
    assertMadeBy(newer);
  }

  private void assertMadeBy(Path home) throws Exception {
    Path log = folder.resolve("log");
    ProcessBuilder generate =
        new ProcessBuilder(
                "bash",
                Fakes.repository().resolve("src/build/generate.sh").toString(),
                System.getProperty("java.class.path"),
                folder.toString())
            .redirectErrorStream(true)
            .redirectOutput(log.toFile());
    generate
        .environment()
        .merge("PATH", home.resolve("bin").toString(), (all, first) -> first + ":" + all);
    Process process = generate.start();
    boolean ended = process.waitFor(5, TimeUnit.MINUTES);
    if (!ended) {
      process.destroyForcibly();
    }
    assertTrue(ended && process.exitValue() == 0, Files.readString(log));
    for (String part : new String[] {"java", "include"}) {
      Map<String, String> made = texts(folder.resolve(part));
      Map<String, String> committed = texts(Fakes.repository().resolve("src/gen").resolve(part));
      assertEquals(committed.keySet(), made.keySet(), "run ./metrale regenerate");
      for (String name : made.keySet()) {
        assertEquals(committed.get(name), made.get(name), name + ": run ./metrale regenerate");
      }
    }
  }

  private static Map<String, String> texts(Path root) throws IOException {
    Map<String, String> out = new TreeMap<>();
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        out.put(root.relativize(file).toString(), Files.readString(file));
      }
    }
    return out;
  }
}
