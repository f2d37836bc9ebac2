package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.metrale.gpu.SoftwareHost;

/** On the software GPU host. */
@Tag("emulator")
final class VerbsPathTest extends VerbsPathCases {
  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  @Tag("slow")
  @Test
  void aPartitionIsTheOneThatIsAskedFor(@TempDir Path folder) throws Exception {
    String said =
        SoftwareHost.running(folder, "ibv.pkeys = 0xffff, 0x8001", PartitionProbe.class)
            .run()
            .succeeded()
            .value("partition");
    assertEquals("1", said);
  }

  /** Says which place of the partition table a queue pair uses. */
  static final class PartitionProbe {
    private PartitionProbe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      List<String> names = VerbsDevice.list();
      VerbsEnd[] ends = VerbsEnd.pair(names.get(0), settings(1), names.get(1), settings(1));
      try (VerbsEnd one = ends[0];
          VerbsEnd other = ends[1]) {
        System.out.println("partition=" + asked(one).pkey_index());
        assertThrows(VerbsException.class, () -> new VerbsEnd(other.device.name(), settings(2)));
      }
    }

    private static VerbsQueueSettings settings(int partition) {
      VerbsPath path =
          new VerbsPath(1, VerbsPath.CHOOSE_GID, partition, 0, 0, 64, 4096, 14, 6, 7, 12);
      return new VerbsQueueSettings(1, VerbsAccess.LOCAL_READ, path);
    }
  }
}
