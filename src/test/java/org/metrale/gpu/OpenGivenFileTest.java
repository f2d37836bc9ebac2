package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A program names the file itself. */
@Tag("native")
final class OpenGivenFileTest {
  private final Path full = Fakes.file("full", NativeLibrary.NCCL);
  private final Path older = Fakes.file("older", NativeLibrary.NCCL);

  @TempDir Path folder;

  @Test
  void opensItBeforeTheFirstUse() throws Exception {
    ForkedJvm.Result result = probe("open:nccl:" + older, "ask:nccl").run().succeeded();
    assertEquals(older.toString(), result.value("open"));
    assertEquals("2.18.5", result.value("version"));
    assertEquals("given by the program", result.value("how"));
  }

  @Test
  void winsOverWhatTheUserSet() throws Exception {
    ForkedJvm.Result result =
        probe("open:nccl:" + older).property("org.metrale.nccl.path", full).run().succeeded();
    assertEquals(older.toString(), result.value("open"));
  }

  @Test
  void opensItAfterASearchThatFailed() throws Exception {
    ForkedJvm.Result result =
        probe("ask:nccl", "open:nccl:" + full)
            .property("org.metrale.nccl.path", folder.resolve("nothing.so"))
            .run()
            .succeeded();
    assertEquals("false", result.value("available"));
    assertEquals(full.toString(), result.value("open"));
  }

  @Test
  void opensAnotherFileAfterOneThatCouldNotBeOpened() throws Exception {
    Path text =
        Files.writeString(folder.resolve("libnccl.so.2"), "a text, long enough ".repeat(99));
    ForkedJvm.Result result = probe("open:nccl:" + text, "open:nccl:" + full).run().succeeded();
    List<String> answers = result.values("open");
    assertTrue(answers.get(0).startsWith("LibraryUnavailableException: "), result.output());
    assertTrue(answers.get(0).contains("invalid ELF header"), result.output());
    assertEquals(full.toString(), answers.get(1));
  }

  @Test
  void acceptsTheFileThatIsOpenAndRefusesAnother() throws Exception {
    Path link = Files.createSymbolicLink(folder.resolve("link.so"), full);
    ForkedJvm.Result result =
        probe("open:nccl:" + full, "open:nccl:" + link, "open:nccl:" + older, "ask:nccl")
            .run()
            .succeeded();
    List<String> answers = result.values("open");
    assertEquals(full.toString(), answers.get(0));
    assertEquals(full.toString(), answers.get(1));
    assertTrue(answers.get(2).startsWith("IllegalStateException: NCCL is open"), result.output());
    assertEquals("2.29.7", result.value("version"));
  }

  @Test
  void triesAgainOnceTheUserSetAnotherPath() throws Exception {
    ForkedJvm.Result result =
        probe("ask:nccl", "set:org.metrale.nccl.path:" + full, "ask:nccl")
            .property("org.metrale.nccl.path", folder.resolve("nothing.so"))
            .run()
            .succeeded();
    assertEquals(List.of("false", "true"), result.values("available"));
  }

  private static ForkedJvm probe(String... commands) {
    return ForkedJvm.running(LoaderProbe.class, commands);
  }
}
