package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Libraries that throw C++ exceptions out of C functions, as NCCL does where it gets no thread. */
@Tag("native")
final class ThrowingLibraryTest {
  /** What the system's runtime says of the two kinds that are thrown. */
  private static final String TOLD =
      "(anonymous namespace)::Failure|std::system_error: Resource temporarily unavailable";

  /** The runtime of the second is hidden in its file, so nobody can ask it what was thrown. */
  @ParameterizedTest
  @CsvSource({
    "cuda, throwing",
    "nccl, throwing",
    "nvml, throwing",
    "cufile, throwing",
    "cuda, throwing-own",
    "nccl, throwing-own",
    "nvml, throwing-own",
    "cufile, throwing-own"
  })
  void whatALibraryThrowsIsAnExceptionOfEveryFunction(String library, String fake)
      throws Exception {
    ForkedJvm.Result result =
        ForkedJvm.running(ThrowingFunctions.class, library, "2")
            .property(
                "org.metrale." + library + ".path", Fakes.file(fake, NativeLibrary.named(library)))
            .run()
            .succeeded();
    assertEquals(List.of(), result.values("wrong"));
    assertEquals("unknown", result.value("version"));
    assertTrue(Integer.parseInt(result.value("guarded")) > 30, result.output());
    assertEquals(result.value("guarded"), result.value("proved"));
    String told = fake.equals("throwing") ? TOLD : "";
    assertEquals(told, String.join("|", new TreeSet<>(result.values("thrown"))));
  }
}
