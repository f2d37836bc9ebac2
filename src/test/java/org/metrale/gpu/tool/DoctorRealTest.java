package org.metrale.gpu.tool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.Fakes;
import org.metrale.gpu.ForkedJvm;

/** The doctor over real vendor libraries, newer and older, on a machine without a GPU. */
@Tag("real")
final class DoctorRealTest {
  private static final Path REAL = Fakes.repository().resolve("cppbuild/real");

  @ParameterizedTest
  @CsvSource({
    "libcuda1-535.261.03-1, nvidia-nccl-cu13-2.32.3, libnvidia-ml1-535.261.03-1,"
        + " nvidia-cufile-1.20.0.107, 535.261.03, 2.32.3",
    "libnvidia-tesla-470-cuda1-470.256.02-1~deb12u1, nvidia-nccl-cu12-2.18.3,"
        + " libnvidia-tesla-470-ml1-470.256.02-1~deb12u1, nvidia-cufile-1.15.0.42, 470.256.02,"
        + " 2.18.3"
  })
  void saysWhatIsThereAndThatThereIsNoDevice(
      String cuda, String nccl, String nvml, String cufile, String driver, String ncclVersion)
      throws Exception {
    ForkedJvm doctor =
        ForkedJvm.running(Doctor.class, "--json", "--require", "nccl,nvml")
            .property("org.metrale.cuda.path", REAL.resolve(cuda).resolve("libcuda.so.1"))
            .property("org.metrale.nccl.path", REAL.resolve(nccl).resolve("libnccl.so.2"))
            .property("org.metrale.nvml.path", REAL.resolve(nvml).resolve("libnvidia-ml.so.1"))
            .property("org.metrale.cufile.path", REAL.resolve(cufile).resolve("libcufile.so.0"));
    ForkedJvm.Result result = doctor.run();
    assertEquals(1, result.exit(), result.output());
    assertTrue(
        result.output().contains("doctor: nvml does not work: nvmlInit_v2: Driver Not Loaded (9)"),
        result.output());
    assertTrue(result.output().contains("doctor: nccl does not work: NCCL needs"), result.output());
    int end = result.output().lastIndexOf('}') + 1;
    JsonNode report = new ObjectMapper().readTree(result.output().substring(0, end));
    for (String name : new String[] {"cuda", "nccl", "nvml", "cufile"}) {
      JsonNode library = report.get(name);
      assertTrue(library.get("available").asBoolean(), library.toString());
      assertTrue(library.has("problem"), library.toString());
      assertFalse(library.has("EMULATED"));
      assertEquals("property org.metrale." + name + ".path", library.get("found by").asText());
    }
    assertEquals("cuInit: CUDA_ERROR_NO_DEVICE (100)", report.get("cuda").get("problem").asText());
    assertEquals("libcuda.so." + driver, report.get("cuda").get("leads to").asText());
    assertEquals("libnvidia-ml.so." + driver, report.get("nvml").get("leads to").asText());
    assertEquals(ncclVersion, report.get("nccl").get("version").asText());
    assertEquals(
        ncclVersion.equals("2.32.3"), report.get("nccl").get("functions missing").asInt() == 0);
    assertEquals("none", report.get("copies of libraries").get("more than one").asText());
  }
}
