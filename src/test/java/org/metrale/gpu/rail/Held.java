package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What this process holds of the machine.
 *
 * @param descriptors open files
 * @param pinnedKib memory that adapters may use; none where they are software of this process
 */
record Held(long descriptors, long pinnedKib) {
  private static final String PINNED = "VmPin:";
  private static final String EVERY_OBJECT =
      "for kind in qp cq mr pd; do rdma resource show $kind; done";

  /** A thread that is over has no name there; the kernel's own have one in brackets. */
  private static final String USERS = " | grep -v 'comm \\['";

  static Held now() throws IOException {
    for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
      if (line.startsWith(PINNED)) {
        String kib = line.substring(PINNED.length()).replace("kB", "").trim();
        return new Held(Descriptors.open(), Long.parseLong(kib));
      }
    }
    throw new IOException("this kernel does not tell what is pinned");
  }

  /** That the kernel would tell of what is left. */
  static void assertSomeRdma() throws IOException, InterruptedException {
    Shell.run(EVERY_OBJECT + USERS);
  }

  /** That nobody has anything on an adapter, nor this process a page that one may use. */
  static void assertNoRdma() throws IOException, InterruptedException {
    assertEquals(0, now().pinnedKib());
    Shell.run("! (" + EVERY_OBJECT + USERS + ")");
  }
}
