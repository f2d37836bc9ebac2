package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where a library comes from, and what is said of one that cannot be used. */
@Tag("native")
final class LoaderTest {
  private static final String PROPERTY = "org.metrale.nccl.path";
  private static final String FOLDER = "org.metrale.library.path";

  @TempDir Path folder;

  @Test
  void saysThatANamedFileIsAbsentAndTriesNothingElse() throws Exception {
    ForkedJvm.Result result =
        probe("ask:nccl")
            .property(PROPERTY, folder.resolve("nothing.so"))
            .property(FOLDER, Fakes.folder("full"))
            .run()
            .succeeded();
    assertRefused(result, "nothing.so", "No such file");
    assertEquals("1", result.value("attempts"));
  }

  @Test
  void saysThatADirectoryIsNoLibrary() throws Exception {
    assertRefused(probe("ask:nccl").property(PROPERTY, folder).run(), "directory");
  }

  @Test
  void saysThatATextIsNoLibrary() throws Exception {
    Path text =
        Files.writeString(folder.resolve("libnccl.so.2"), "a text, long enough ".repeat(99));
    assertRefused(probe("ask:nccl").property(PROPERTY, text).run(), "invalid ELF header");
  }

  @Test
  void saysThatAnEmptyFileIsNoLibrary() throws Exception {
    Path empty = Files.createFile(folder.resolve("libnccl.so.2"));
    assertRefused(probe("ask:nccl").property(PROPERTY, empty).run(), "file too short");
  }

  @Test
  void saysThatALibraryIsForAnotherMachine() throws Exception {
    String other = Fakes.platform().endsWith("arm64") ? "linux-x86_64" : "linux-arm64";
    Path foreign = Fakes.folder(other, "full").resolve("libnccl.so.2");
    assertRefused(probe("ask:nccl").property(PROPERTY, foreign).run(), "another machine");
  }

  @ParameterizedTest
  @ValueSource(strings = {"cuda", "nccl", "nvml", "cufile", "ibverbs"})
  void saysThatALibraryHasNoneOfTheFunctions(String name) throws Exception {
    Path empty = Fakes.file("empty", NativeLibrary.named(name));
    ForkedJvm.Result result =
        probe("ask:" + name, "call:" + name)
            .property("org.metrale." + name + ".path", empty)
            .run()
            .succeeded();
    assertRefused(result, "has none of the ", empty.toString());
    assertTrue(result.value("call").startsWith("LibraryUnavailableException: "), result.output());
  }

  @Test
  void refusesAStubLibraryByName() throws Exception {
    Path stubs = Files.createDirectory(folder.resolve("stubs"));
    Path stub =
        Files.copy(
            Fakes.file("full", NativeLibrary.NCCL), stubs.resolve(NativeLibrary.NCCL.soname()));
    Path link = Files.createSymbolicLink(folder.resolve("libnccl.so.2"), stub);
    assertRefused(probe("ask:nccl").property(PROPERTY, stub).run(), "stub library at " + stub);
    assertRefused(probe("ask:nccl").property(PROPERTY, link).run(), "stub library at " + stub);
  }

  @Test
  void prefersThePropertyToTheEnvironment() throws Exception {
    ForkedJvm.Result result =
        probe("ask:nccl")
            .property(PROPERTY, Fakes.file("older", NativeLibrary.NCCL))
            .environment("METRALE_NCCL_PATH", Fakes.file("full", NativeLibrary.NCCL))
            .run();
    assertOpened(result, Fakes.folder("older"), "property org.metrale.nccl.path");
  }

  @Test
  void prefersThePathToTheFolder() throws Exception {
    ForkedJvm.Result result =
        probe("ask:nccl")
            .environment("METRALE_NCCL_PATH", Fakes.file("full", NativeLibrary.NCCL))
            .property(FOLDER, Fakes.folder("older"))
            .run();
    assertOpened(result, Fakes.folder("full"), "environment METRALE_NCCL_PATH");
  }

  @Test
  void takesAFolderFromThePropertyThenFromTheEnvironment() throws Exception {
    ForkedJvm.Result both =
        probe("ask:nccl")
            .property(FOLDER, Fakes.folder("full"))
            .environment("METRALE_LIBRARY_PATH", Fakes.folder("older"))
            .run();
    assertOpened(both, Fakes.folder("full"), "property org.metrale.library.path");
    ForkedJvm.Result variable =
        probe("ask:nccl").environment("METRALE_LIBRARY_PATH", Fakes.folder("older")).run();
    assertOpened(variable, Fakes.folder("older"), "environment METRALE_LIBRARY_PATH");
  }

  @Test
  void saysThatANamedFolderIsAbsentAndTriesNothingElse() throws Exception {
    ForkedJvm.Result result =
        probe("ask:nccl")
            .property(FOLDER, folder.resolve("nowhere"))
            .environment("LD_LIBRARY_PATH", Fakes.folder("full"))
            .run();
    assertRefused(result, "nowhere");
    assertEquals("1", result.value("attempts"));
  }

  @Test
  void looksElsewhereForWhatANamedFolderDoesNotHave() throws Exception {
    ForkedJvm.Result result =
        probe("ask:nccl")
            .property(FOLDER, folder)
            .environment("LD_LIBRARY_PATH", Fakes.folder("full"))
            .run();
    assertOpened(result, Fakes.folder("full"), "loader search");
  }

  @Test
  void takesACopyThatTheProcessHasMappedAlready() throws Exception {
    Path mapped = Fakes.file("older", NativeLibrary.NCCL);
    ForkedJvm.Result result =
        probe("load:" + mapped, "ask:nccl")
            .environment("LD_LIBRARY_PATH", Fakes.folder("full"))
            .run();
    assertOpened(result, Fakes.folder("older"), "mapped in this process");
  }

  @Test
  void refusesAnEmulatorThatWasFoundByItsSonameOnly() throws Exception {
    ForkedJvm.Result found =
        probe("ask:nccl").environment("LD_LIBRARY_PATH", Fakes.folder("marked")).run();
    assertRefused(found, "emulator library at ");
    ForkedJvm.Result mapped =
        probe("load:" + Fakes.file("marked", NativeLibrary.NCCL), "ask:nccl").run();
    assertRefused(mapped, "emulator library at ");
  }

  @Test
  void marksAnEmulatorThatTheLibraryPathChose() throws Exception {
    ForkedJvm.Result result = probe("ask:nccl").property(FOLDER, Fakes.folder("marked")).run();
    assertOpened(result, Fakes.folder("marked"), "property org.metrale.library.path");
    assertEquals("true", result.value("emulated"));
    assertEquals("2.29.7 EMULATED", result.value("version"));
  }

  @Test
  void worksWithAnOlderLibraryAndSaysWhatItLacks() throws Exception {
    ForkedJvm.Result result =
        probe("ask:nccl", "call:nccl").property(FOLDER, Fakes.folder("older")).run().succeeded();
    assertEquals("2.18.5", result.value("version"));
    assertEquals("false", result.value("supportsShrink"));
    assertFalse(result.value("missing").startsWith("0 "), result.output());
    assertTrue(result.value("call").contains("ncclCommShrink: not in "), result.output());
    assertTrue(result.value("call").contains("(NCCL 2.18.5)"), result.output());
  }

  @Test
  void worksWithANewerLibrary() throws Exception {
    ForkedJvm.Result result =
        probe("ask:nccl", "call:nccl").property(FOLDER, Fakes.folder("newer")).run().succeeded();
    assertEquals("3.99.1", result.value("version"));
    assertTrue(result.value("missing").startsWith("0 of "), result.output());
    assertTrue(Integer.parseInt(result.value("call")) >= 1000, result.output());
  }

  private static ForkedJvm probe(String... commands) {
    return ForkedJvm.running(LoaderProbe.class, commands);
  }

  private static void assertRefused(ForkedJvm.Result result, String... texts) {
    result.succeeded();
    assertEquals("false", result.value("available"), result.output());
    for (String text : texts) {
      assertTrue(result.value("cause").contains(text), result.output());
    }
  }

  private static void assertOpened(ForkedJvm.Result result, Path from, String how) {
    result.succeeded();
    assertEquals("true", result.value("available"), result.output());
    assertEquals(from.resolve(NativeLibrary.NCCL.soname()).toString(), result.value("file"));
    assertEquals(how, result.value("how"));
  }
}
