package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class LibraryVersionTest {
  @ParameterizedTest
  @CsvSource({
    "nccl, 2708, 2.7.8",
    "nccl, 21805, 2.18.5",
    "nccl, 22907, 2.29.7",
    "cuda, 12080, for CUDA 12.8",
    "nvml, 13030, for CUDA 13.3",
    "cufile, 1180, 1.18",
    "ibverbs, 7, 7"
  })
  void readsTheCodeAsPeopleWriteIt(String library, int code, String text) {
    assertEquals(text, LibraryVersion.text(library, code));
  }

  /** Level: software GPU host. */
  @Tag("emulator")
  @Test
  void aLibraryThatDoesNotAnswerHasNoVersion() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(LoaderProbe.class, "ask:nvml")
            .environment(
                "METRALE_EMULATOR_FAULT", "nvml.nvmlSystemGetCudaDriverVersion_v2 call=1 hang")
            .run()
            .succeeded();
    assertEquals("true", result.value("available"));
    assertEquals("", result.value("version"));
  }

  @Test
  void doesNotGuessWhenAFunctionFirstAppeared() {
    assertEquals(Optional.empty(), LibraryVersion.first("nccl", "ncclOfTheFuture"));
  }
}
