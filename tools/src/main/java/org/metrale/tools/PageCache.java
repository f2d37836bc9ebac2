package org.metrale.tools;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The kernel's copies of a file's pages. */
final class PageCache {
  private static final long SECONDS = 30;

  private PageCache() {}

  /**
   * Asks the kernel to forget a file's pages, which any reader may. Java has no call for it; {@code
   * dd} of the GNU core utilities has.
   *
   * @return whether it was done
   */
  static boolean drop(Path file) throws IOException, InterruptedException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
      channel.force(true); // pages that are not written yet would stay
    }
    List<String> command =
        List.of("dd", "if=" + file.toAbsolutePath(), "iflag=nocache", "count=0", "status=none");
    Process process;
    try {
      process =
          new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start();
    } catch (IOException e) {
      return false; // there is no such program here
    }
    try {
      return process.waitFor(SECONDS, TimeUnit.SECONDS) && process.exitValue() == 0;
    } finally {
      process.destroyForcibly();
    }
  }
}
