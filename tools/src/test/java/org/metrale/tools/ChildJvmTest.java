package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;

final class ChildJvmTest {
  /** A JVM that is kept small, or whose compilers are restricted, starts others that are too. */
  @Test
  void aSecondJvmHasTheMemoryAndTheCompilersOfTheFirst() {
    assertEquals(
        List.of("-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xss2m", "-Xint"),
        ChildJvm.options(
            List.of(
                "-Xmx1g",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-XX:ArchiveClassesAtExit=/a",
                "-XX:StartFlightRecording=filename=a",
                "-agentlib:jdwp=transport=dt_socket,server=y",
                "-Xss2m",
                "-Xint",
                "-Dorg.metrale.x=1",
                "-cp",
                "a.jar",
                "org.metrale.tools.Main",
                "demo",
                "--only=rails")));
  }
}
