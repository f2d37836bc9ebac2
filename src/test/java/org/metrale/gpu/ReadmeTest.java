package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.cufile.CUfileError_t;
import org.metrale.global.cuda;
import org.metrale.global.cufile;
import org.metrale.global.nccl;
import org.metrale.global.nvml;
import org.metrale.global.nvtx;
import org.metrale.gpu.verbs.VerbsDevice;
import org.metrale.nccl.ncclConfig_t;
import org.metrale.nvml.nvmlDevice_st;
import org.metrale.nvml.nvmlMemory_v2_t;

/** The README's examples: each stands here word for word, so it compiles, and is run. */
@Tag("native")
final class ReadmeTest {
  private static final Path README = Fakes.repository().resolve("README.md");
  private static final Path SELF =
      Fakes.repository().resolve("src/test/java/org/metrale/gpu/ReadmeTest.java");

  static void ncclExample() {
    int[] version = new int[1];
    try {
      System.out.println("code " + nccl.ncclGetVersion(version) + ", version " + version[0]);
      ncclConfig_t config = new ncclConfig_t(); // initialised as NCCL_CONFIG_INITIALIZER does
      config.blocking(0);
      System.out.println("NCCL config of " + config.size() + " bytes");
    } catch (LibraryUnavailableException e) {
      System.out.println(e.getMessage()); // names every place that was tried
    }
  }

  static void cudaExample() {
    if (NativeLibrary.CUDA.isAvailable() && cuda.cuInit(0) == 0) {
      int[] count = new int[1];
      cuda.cuDeviceGetCount(count);
      System.out.println(count[0] + " devices");
    } else {
      System.out.println("no CUDA: " + NativeLibrary.CUDA.attempts());
    }
  }

  static void nvmlExample() {
    if (NativeLibrary.NVML.supports("nvmlDeviceGetMemoryInfo_v2") && nvml.nvmlInit_v2() == 0) {
      nvmlDevice_st device = new nvmlDevice_st(null);
      nvmlMemory_v2_t memory = new nvmlMemory_v2_t(); // its version word is set
      if (nvml.nvmlDeviceGetHandleByIndex_v2(0, device) == 0
          && nvml.nvmlDeviceGetMemoryInfo_v2(device, memory) == 0) {
        System.out.println(memory._free() + " of " + memory.total() + " bytes free");
      }
      nvml.nvmlShutdown();
    }
  }

  static void cuFileExample() {
    if (NativeLibrary.CUFILE.isAvailable()) {
      CUfileError_t error = cufile.cuFileDriverOpen();
      System.out.println(cufile.cufileop_status_error(error.err()).getString());
    }
  }

  static void verbsExample() {
    for (String name : VerbsDevice.list()) {
      try (VerbsDevice device = VerbsDevice.open(name)) {
        device.ports().forEach(port -> System.out.println(name + " " + port.gidChoice()));
      }
    }
  }

  static void nvtxExample() {
    nvtx.nvtxRangePushA("prefill");
    nvtx.nvtxRangePop();
  }

  /** Runs every example; a failure of a library ends it with a code that is not 0. */
  public static void main(String[] arguments) {
    ncclExample();
    cudaExample();
    nvmlExample();
    cuFileExample();
    nvtxExample();
    try {
      verbsExample();
    } catch (GpuException e) {
      System.out.println(e.getMessage());
    }
  }

  @Test
  void everyExampleStandsHereWordForWord() throws IOException {
    List<String> examples =
        Pattern.compile("```java\n(.*?)```", Pattern.DOTALL)
            .matcher(Files.readString(README))
            .results()
            .map(found -> squeezed(found.group(1)))
            .toList();
    assertFalse(examples.isEmpty());
    String self = squeezed(Files.readString(SELF));
    for (String example : examples) {
      assertTrue(self.contains(example), example);
    }
  }

  @Test
  void everyExampleRunsWithoutAnyLibrary() throws Exception {
    ForkedJvm jvm = ForkedJvm.running(ReadmeTest.class);
    for (NativeLibrary library : NativeLibrary.all()) {
      jvm.property("org.metrale." + library.name() + ".path", "/nowhere/" + library.soname());
    }
    ForkedJvm.Result result = jvm.run().succeeded();
    assertTrue(result.output().contains("/nowhere/libnccl.so.2"), result.output());
    assertEquals(1, Pattern.compile("no CUDA: ").matcher(result.output()).results().count());
  }

  private static String squeezed(String text) {
    return text.replaceAll("\\s+", " ").trim();
  }
}
