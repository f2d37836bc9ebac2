package org.metrale.gpu.tool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.SoftwareHost;

/** The doctor on a machine that has everything: the software GPU host. */
@Tag("emulator")
final class DoctorEmulatorTest {
  private static final List<String> LIBRARIES = List.of("cuda", "nccl", "nvml", "cufile", "verbs");

  @Test
  void saysOfEachLibraryWhatItIsAndThatItIsEmulated() throws Exception {
    JsonNode report = report();
    for (String name : LIBRARIES) {
      JsonNode library = report.get(name);
      assertTrue(library.get("available").asBoolean(), library.toString());
      assertTrue(library.get("file").asText().startsWith(SoftwareHost.folder().toString()), name);
      assertEquals("property org.metrale.library.path", library.get("found by").asText());
      assertTrue(library.has("EMULATED"), name);
      assertTrue(library.get("functions").asInt() > 30, name);
      assertTrue(library.has("functions missing"), name);
      assertFalse(library.has("problem"), library.toString());
    }
    assertTrue(report.get("nccl").get("version").asText().endsWith(" EMULATED"));
  }

  @Test
  void listsWhatTheMachineHas() throws Exception {
    JsonNode report = report();
    assertEquals(2, report.get("cuda").get("devices").size());
    assertEquals(2, report.get("nvml").get("devices").size());
    assertTrue(report.get("nvml").get("devices").get(1).get("UUID").asText().startsWith("GPU-"));
    assertTrue(report.get("nvml").has("driver version"));
    JsonNode storage = report.get("cufile").get("GPUDirect Storage");
    for (String fact :
        List.of(
            "driver",
            "nvidia-fs module loaded",
            "kernel peer-to-peer DMA",
            "compatibility mode allowed",
            "configuration file",
            "file system of the working folder",
            "what keeps it off")) {
      assertTrue(storage.has(fact), fact + " in " + storage);
    }
    JsonNode port = report.get("verbs").get("devices").get(0).get("ports").get(0);
    assertTrue(port.get("gid table").size() > 0, port.toString());
    assertTrue(port.get("gid chosen").asText().contains(": "), port.toString());
    assertFalse(report.get("nvtx").get("tool attached").asBoolean());
    for (String fact :
        List.of("locked memory limit", "page size bytes", "jdk", "javacpp", "extraction folder")) {
      assertTrue(report.get("system").has(fact), fact);
    }
  }

  @Test
  void endsWithZeroWhenWhatIsRequiredWorks() throws Exception {
    assertEquals(
        "",
        doctor("--json", "--require", String.join(",", LIBRARIES))
            .run()
            .succeeded()
            .output()
            .lines()
            .filter(line -> line.startsWith("doctor: "))
            .findFirst()
            .orElse(""));
  }

  private static JsonNode report() throws Exception {
    return new ObjectMapper().readTree(doctor("--json").run().succeeded().output());
  }

  private static ForkedJvm doctor(String... arguments) {
    return SoftwareHost.running(Doctor.class, arguments).environment("METRALE_EMULATOR_GPUS", 2);
  }
}
