package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What somebody sees who waits for the rail commands; on the software GPU host. */
@Tag("emulator")
@Timeout(180)
class RailTerminalTest {
  private static final int BYTES = 20_000_003;

  @TempDir private Path folder;
  private Path source;

  @BeforeEach
  void prepare() throws Exception {
    byte[] bytes = new byte[BYTES];
    new SplittableRandom(5).nextBytes(bytes);
    source = Files.write(folder.resolve("source"), bytes);
  }

  private static String screen(String... arguments) throws Exception {
    ToolProcess seen =
        ToolProcess.onTerminal(ToolProcess.builder(ToolProcess.onEmulator(arguments)));
    assertEquals(0, seen.exitCode(), seen.out());
    return seen.out();
  }

  @Test
  void getsWithABar() throws Exception {
    try (ServingProcess server = new ServingProcess("--file=" + source)) {
      Path target = folder.resolve("target");
      String screen = screen("rail", "get", server.peer(), target.toString());
      assertTrue(screen.contains("\rget "), screen);
      assertTrue(screen.contains("100% ["), screen);
      assertTrue(screen.contains("/s"), screen);
      assertEquals(-1, Files.mismatch(source, target));
      String quiet = screen("rail", "get", server.peer(), target.toString(), "--no-progress");
      assertFalse(quiet.contains("% ["), quiet);
      assertTrue(quiet.contains("EMULATED: got "), quiet);
    }
  }

  /** The way back, by which it is compared, is the second half. */
  @Test
  void putsWithABar() throws Exception {
    try (ServingProcess server = new ServingProcess("--arena=32M", "--writable")) {
      String screen = screen("rail", "put", source.toString(), server.peer());
      assertTrue(screen.contains("\rput "), screen);
      assertTrue(screen.contains("100% ["), screen);
    }
  }
}
