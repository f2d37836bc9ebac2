package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.nvml.NvmlCudaOrder.Candidate;
import org.metrale.gpu.nvml.NvmlCudaOrder.Slice;

class NvmlCudaOrderTest {
  private static final List<Candidate<String>> GPUS =
      List.of(
          whole("g0", "GPU-aaaa0000-1111-2222-3333-444455556666"),
          whole("g1", "GPU-aaaa1111-1111-2222-3333-444455556666"),
          new Candidate<>(
              "g2",
              "H200",
              "GPU-bbbb0000-1111-2222-3333-444455556666",
              true,
              List.of(
                  new Slice<>("m0", "MIG-c0c0c0c0-1111-2222-3333-444455556666", 2, 0),
                  new Slice<>("m1", "MIG-c1c1c1c1-1111-2222-3333-444455556666", 9, 1))));

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      nullValues = "unset",
      value = {
        "unset | g0 g1 m0",
        "'' | ''",
        "0 | g0",
        "1,0 | g1 g0",
        "2 | m0",
        "' 1 , 0 ' | g1 g0",
        "0,7,1 | g0",
        "-1 | ''",
        "0,-1,1 | g0",
        "0,x,1 | g0",
        "0,0 | ''",
        "99999999999 | ''",
        "GPU-aaaa1111-1111-2222-3333-444455556666 | g1",
        "gpu-aaaa1111-1111-2222-3333-444455556666 | g1",
        "GPU-aaaa1 | g1",
        "GPU-aaaa | ''",
        "GPU- | ''",
        "GPU-bbbb | m0",
        "MIG-c1c1c1c1-1111-2222-3333-444455556666 | m1",
        "MIG-c1c1 | m1",
        "MIG-c | ''",
        "MIG-GPU-bbbb0000-1111-2222-3333-444455556666/9/1 | m1",
        "MIG-GPU-bbbb0000-1111-2222-3333-444455556666/9/0 | ''",
        "MIG-GPU-bbbb0000-1111-2222-3333-444455556666/9 | ''",
        "'MIG-c1c1,0' | m1 g0",
      })
  void showsWhatCudaShows(String visible, String expected) {
    Map<String, String> environment =
        visible == null ? Map.of() : Map.of("CUDA_VISIBLE_DEVICES", visible);
    assertEquals(expected, String.join(" ", NvmlCudaOrder.resolve(GPUS, environment)));
  }

  @Test
  void refusesNumbersWhereTheOrderDependsOnSpeed() {
    List<Candidate<String>> mixed =
        List.of(GPUS.get(0), new Candidate<>("a", "A100", "GPU-dddd", false, List.of()));
    assertThrows(
        IllegalStateException.class,
        () -> NvmlCudaOrder.resolve(mixed, Map.of("CUDA_VISIBLE_DEVICES", "1")));
    assertThrows(IllegalStateException.class, () -> NvmlCudaOrder.resolve(mixed, Map.of()));
    assertEquals(
        List.of("a"),
        NvmlCudaOrder.resolve(
            mixed, Map.of("CUDA_VISIBLE_DEVICES", "1", "CUDA_DEVICE_ORDER", "PCI_BUS_ID")));
    assertEquals(
        List.of("a"), NvmlCudaOrder.resolve(mixed, Map.of("CUDA_VISIBLE_DEVICES", "GPU-dddd")));
  }

  private static Candidate<String> whole(String device, String uuid) {
    return new Candidate<>(device, "H200", uuid, false, List.of());
  }
}
