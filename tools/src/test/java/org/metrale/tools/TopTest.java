package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.awt.image.BufferedImage;
import java.io.BufferedReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

@Tag("emulator")
class TopTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  @TempDir private Path folder;

  private static JsonNode once(String... settings) throws Exception {
    List<String> arguments = new ArrayList<>(List.of("top", "--once", "--json"));
    for (String setting : settings) {
      arguments.add("--emulator-set=" + setting);
    }
    ToolProcess top = ToolProcess.emulated(arguments.toArray(String[]::new));
    assertEquals(0, top.exitCode(), top.err());
    JsonNode sample = JSON.readTree(top.out());
    assertTrue(sample.get("emulated").asBoolean());
    return sample;
  }

  @Test
  void tellsEverythingOfAnH200() throws Exception {
    JsonNode gpu = once("gpus=2").get("devices").get(1);
    assertEquals("NVIDIA H200", gpu.get("name").asText());
    assertEquals("1", gpu.get("gpu").asText());
    assertEquals(37, gpu.get("gpu_percent").asLong());
    assertEquals(41, gpu.get("temperature_celsius").asLong());
    assertEquals(700_000, gpu.get("power_limit_milliwatts").asLong());
    assertEquals(18, gpu.get("nvlinks_active").asLong());
    assertEquals("absent", gpu.get("fan_percent").get("state").asText());
    assertEquals("NVML", gpu.get("memory_source").asText());
    assertFalse(gpu.get("unified_memory").asBoolean());
    assertTrue(gpu.get("processes").get("compute").get(0).get("pid").asLong() > 0);
  }

  @Test
  void saysWhoseMemoryAGb10Has() throws Exception {
    JsonNode gpu = once("gpus=1", "gpu.kind=gb10").get("devices").get(0);
    assertTrue(gpu.get("unified_memory").asBoolean());
    assertEquals("OPERATING_SYSTEM", gpu.get("memory_source").asText());
    assertTrue(gpu.get("memory_total_bytes").asLong() > 0);
    assertEquals("absent", gpu.get("power_limit_milliwatts").get("state").asText());
    assertEquals("absent", gpu.get("pcie_generation").get("state").asText());
  }

  @Test
  void saysThatAGb200HasNoPcie() throws Exception {
    JsonNode gpu = once("gpus=1", "gpu.kind=gb200").get("devices").get(0);
    assertEquals("NVIDIA GB200", gpu.get("name").asText());
    assertEquals("absent", gpu.get("pcie_generation").get("state").asText());
    assertEquals(64, gpu.get("gpu_percent").asLong());
  }

  @Test
  void listsMigDevicesAfterTheirGpu() throws Exception {
    JsonNode devices = once("gpus=1", "gpu.kind=a100-mig").get("devices");
    assertEquals(4, devices.size());
    assertEquals("0", devices.get(0).get("gpu").asText());
    assertTrue(devices.get(0).get("mig_enabled").asBoolean());
    assertEquals("absent", devices.get(0).get("gpu_percent").get("state").asText());
    assertEquals("0/2/0", devices.get(1).get("gpu").asText());
    assertTrue(devices.get(1).get("uuid").asText().startsWith("MIG-"));
  }

  @Test
  void keepsDeniedAndFailedApart() throws Exception {
    JsonNode gpu =
        once("gpus=1", "nvml.gpu0.power=error:4", "nvml.gpu0.temperature=error:999")
            .get("devices")
            .get(0);
    assertEquals("denied", gpu.get("power_milliwatts").get("state").asText());
    assertEquals("failed", gpu.get("temperature_celsius").get("state").asText());
    assertEquals(999, gpu.get("temperature_celsius").get("code").asLong());
  }

  @Test
  void goesOnWithoutAGpuThatIsLost() throws Exception {
    JsonNode sample = once("gpus=2", "nvml.gpu0.open=error:15");
    assertEquals(1, sample.get("devices").size());
    assertTrue(sample.get("problems").get(0).asText().contains("GPU 0"));
  }

  @Test
  void showsTheOthersWhereAGpuHangs() throws Exception {
    ToolProcess top =
        ToolProcess.emulated(
            "top",
            "--once",
            "--json",
            "--emulator-set=gpus=2",
            "--emulator-set=fault=nvml.nvmlDeviceGetTemperatureV call=1 hang");
    JsonNode devices = JSON.readTree(top.out()).get("devices");
    assertEquals("NVIDIA H200", devices.get(0).get("name").asText());
    assertEquals("failed", devices.get(0).get("temperature_celsius").get("state").asText());
    assertEquals(10, devices.get(0).get("processes").get("mps").get("code").asLong());
    assertEquals(41, devices.get(1).get("temperature_celsius").asLong());
    assertEquals(1, top.exitCode());
    assertTrue(top.err().contains("calls that have not returned: 1"), top.err());
  }

  @Test
  void drawsARecordedRun() throws Exception {
    Path record = folder.resolve("run.csv");
    ToolProcess top =
        ToolProcess.emulated("top", "--csv", "--count=3", "--interval=0.1", "--record=" + record);
    assertEquals(0, top.exitCode(), top.err());
    assertEquals(top.out(), Files.readString(record));
    assertEquals(1 + 3 * 2, Files.readAllLines(record).size());
    Path chart = folder.resolve("run.png");
    ToolProcess plot = ToolProcess.run("top", "--plot=" + chart, "--from=" + record);
    assertEquals(0, plot.exitCode(), plot.err());
    BufferedImage image = ImageIO.read(chart.toFile());
    assertTrue(image.getWidth() > 1000 && image.getHeight() > 500);
  }

  @Test
  void drawsTheRunThatItShows() throws Exception {
    Path chart = folder.resolve("live.png");
    ToolProcess top =
        ToolProcess.emulated("top", "--json", "--count=2", "--interval=0.1", "--plot=" + chart);
    assertEquals(0, top.exitCode(), top.err());
    assertEquals(2, top.out().lines().count(), top.out());
    assertTrue(ImageIO.read(chart.toFile()).getWidth() > 1000);
  }

  @Test
  void endsWhenNobodyReadsItsOutputAnyMore() throws Exception {
    String[] arguments = ToolProcess.onEmulator("top", "--csv", "--interval=0.05");
    Process top =
        ToolProcess.builder(arguments).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    try {
      try (BufferedReader out = top.inputReader()) {
        assertTrue(out.readLine().startsWith("time,"));
      }
      assertTrue(top.waitFor(60, TimeUnit.SECONDS), "it still writes into a closed pipe");
      assertEquals(0, top.exitValue());
    } finally {
      top.destroyForcibly();
    }
  }

  @Test
  void takesNoTwoSamplesCloserThanAskedAfterALateOne() {
    assertEquals(1100, TopCommand.after(1000, 1030, 100));
    assertEquals(1350, TopCommand.after(1000, 1250, 100));
  }

  @Test
  void refusesWhatCannotBeBeforeItSamples() throws Exception {
    Path nowhere = folder.resolve("nowhere").resolve("x.png");
    for (String argument :
        List.of(
            "--interval=0.01",
            "--interval=1e300",
            "--count=0",
            "--plot=x.jpg",
            "--plot=" + nowhere,
            "--record=" + nowhere,
            "--record=" + folder,
            "--record=/",
            "--record=/sys/kernel/x.csv",
            "--plot=/sys/kernel/x.png",
            "--from=" + nowhere)) {
      ToolProcess top = ToolProcess.emulated("top", argument);
      assertEquals(2, top.exitCode(), argument + " " + top.err());
      assertEquals("", top.out(), argument);
      assertTrue(top.err().startsWith("top: --"), argument + " " + top.err());
    }
  }

  @Test
  void saysInALineWhyARecordingCannotBeDrawn() throws Exception {
    Path noText = Files.write(folder.resolve("no.csv"), new byte[] {(byte) 0xFF, (byte) 0xFE, 0});
    Path other = Files.writeString(folder.resolve("other.csv"), "a,b\n1,2\n");
    for (Path recording : List.of(noText, other)) {
      ToolProcess top =
          ToolProcess.run("top", "--from=" + recording, "--plot=" + folder.resolve("x.png"));
      assertEquals(1, top.exitCode(), top.err());
      assertTrue(top.err().startsWith("top: "), top.err());
      assertEquals(1, top.err().lines().count(), top.err());
    }
  }

  @Test
  void showsATableForPeople() throws Exception {
    ToolProcess top = ToolProcess.emulated("top", "--once");
    assertEquals(0, top.exitCode(), top.err());
    assertTrue(top.out().startsWith("EMULATED: "), top.out());
    assertTrue(top.out().contains("119 W / 700 W"), top.out());
    assertTrue(top.out().contains("18 of 18 up"), top.out());
  }

  @Test
  void saysWhereNvmlWasLookedFor() throws Exception {
    ToolProcess top = ToolProcess.run("top", "--once");
    if (top.exitCode() != 0) { // a machine with GPUs has one
      assertEquals(1, top.exitCode());
      assertTrue(top.err().startsWith("top: NVML"), top.err());
    }
  }
}
