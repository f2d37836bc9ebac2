package org.metrale.gpu.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.gpu.SoftwareHost;

/**
 * cuFile's driver is not closed by a process that ends, where CUDA may be gone already: by a
 * program in C++ with the glue's own calls, since a virtual machine lets no thread go on then.
 * Level: software GPU host.
 */
@Tag("native")
class CuFileProcessEndTest {
  @Test
  void whatIsClosedBeforeTheEndIsClosed() throws Exception {
    assertEquals(
        List.of(
            "open: answer 0, users 1",
            "close: answer 0, users 0",
            "close at the end: answer 0, users 0"),
        run("close"));
  }

  @Test
  void nothingIsClosedWhileTheProcessEnds() throws Exception {
    assertEquals(
        List.of("open: answer 0, users 1", "close at the end: answer 0, users 1"), run("keep"));
  }

  private static List<String> run(String what) throws Exception {
    Path program =
        SoftwareHost.folder().resolveSibling("src/test/c/cufile/metrale_cufile_process_end");
    assertTrue(Files.isExecutable(program), program.toString());
    List<String> command = new ArrayList<>();
    String runner = System.getProperty("metrale.runner", "");
    if (!runner.isEmpty()) {
      command.addAll(List.of(runner.split(" ")));
    }
    command.addAll(
        List.of(
            program.toString(), SoftwareHost.folder().resolve("libcufile.so.0").toString(), what));
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    try (InputStream out = process.getInputStream()) {
      String said = new String(out.readAllBytes(), StandardCharsets.UTF_8);
      assertTrue(process.waitFor(60, TimeUnit.SECONDS), said);
      assertEquals(0, process.exitValue(), said);
      return said.lines().toList();
    } finally {
      process.destroyForcibly();
    }
  }
}
