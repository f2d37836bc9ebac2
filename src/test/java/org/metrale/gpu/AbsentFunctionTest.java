package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Tag("native")
final class AbsentFunctionTest {
  @TempDir Path folder;

  @ParameterizedTest
  @ValueSource(strings = {"cuda", "nccl", "nvml", "cufile"})
  void throwsForEveryFunctionThatIsAbsentAndEndsByItself(String library) throws Exception {
    ForkedJvm.Result result =
        ForkedJvm.running(
                AbsentFunctions.class,
                library,
                Fakes.folder("full").toString(),
                Fakes.glue(Fakes.platform()).toString(),
                folder.toString())
            .deadline(Duration.ofMinutes(5))
            .run()
            .succeeded();
    assertEquals(List.of(), result.values("wrong"));
    String bound = result.value("bound");
    assertTrue(Integer.parseInt(bound) > 40, bound);
    assertEquals(bound, result.value("withoutLibrary"));
    assertEquals(bound, result.value("withoutSymbol"));
    System.out.println(
        library + ": " + bound + " functions proved by " + result.value("calls") + " calls");
  }
}
