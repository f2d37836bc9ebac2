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
  @ValueSource(strings = {"cuda", "nccl", "nvml", "cufile", "ibverbs"})
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
    int bound = Integer.parseInt(result.value("bound"));
    int here = bound - result.values("elsewhere").size();
    assertTrue(bound > 30, result.output());
    assertEquals(library.equals("ibverbs") ? bound - 1 : bound, here);
    assertEquals(here, Integer.parseInt(result.value("withoutLibrary")));
    assertEquals(here, Integer.parseInt(result.value("withoutSymbol")));
    System.out.println(
        library
            + ": "
            + here
            + " of "
            + bound
            + " functions proved by "
            + result.value("calls")
            + " calls");
  }
}
