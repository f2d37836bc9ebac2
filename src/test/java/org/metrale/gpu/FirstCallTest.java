package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What the first call of a program loads besides the glue and JavaCPP's loader. */
@Tag("emulator")
final class FirstCallTest {
  /** Asks for a version and ends; joins no strings of its own. */
  static final class Program {
    private Program() {}

    public static void main(String[] arguments) {
      System.out.println(NativeLibrary.NCCL.version().orElseThrow());
    }
  }

  @Test
  void neitherLambdasNorWhatTheJvmWritesAtRunTimeDelayIt() throws Exception {
    List<String> loaded =
        ForkedJvm.running(Program.class)
            .property("org.metrale.library.path", SoftwareHost.folder())
            .options("-Xlog:class+load")
            .run()
            .succeeded()
            .output()
            .lines()
            .toList();
    assertTrue(loaded.stream().anyMatch(line -> line.endsWith(" EMULATED")), loaded::toString);
    int search = 0;
    while (!loaded.get(search).contains(" org.metrale.gpu.LibrarySearch ")) {
      search++;
    }
    List<String> slow =
        loaded.subList(search, loaded.size()).stream()
            .filter(
                line ->
                    line.contains("LambdaForm")
                        || line.contains("$$Lambda")
                        || line.contains("java.lang.runtime.ObjectMethods"))
            .toList();
    assertEquals(List.of(), slow);
    assertEquals(
        List.of(),
        loaded.stream().filter(line -> line.contains("metrale.presets.Recipe$$")).toList());
  }
}
