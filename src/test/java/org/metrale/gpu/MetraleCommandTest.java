package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code metrale} refuses what it does not know before it builds or begins anything. */
@Tag("native")
@Tag("full")
final class MetraleCommandTest {
  private static final long DEADLINE_SECONDS = 30;

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "soak --help | soak: --help is too much; it takes no arguments",
        "example now | example: now is too much; it takes no arguments",
        "package -q | package: -q is too much; it takes no arguments",
        "platform arm | platform: arm is too much; it takes no arguments",
        "classpath arm | classpath: arm is no platform; linux-x86_64 and linux-arm64 are",
        "classpath linux-arm64 x | classpath: x is too much; it takes one platform",
        "kit linux-arm64 windows | kit: windows is no platform; linux-x86_64 and linux-arm64 are",
        "matrix nccl rows | matrix: rows is no kind; nccl, cufile, nvml, cuda, javacpp,"
            + " javacpp-older, java, system and header are"
      })
  void whatIsNotKnownIsRefused(String command, String said) throws Exception {
    assertEquals("metrale: " + said + "\n", refused(command));
  }

  @ParameterizedTest
  @CsvSource({"'', ''", "frobnicate, metrale: nothing is called frobnicate"})
  void whatIsNoCommandIsToldTheCommands(String command, String said) throws Exception {
    String told = refused(command);
    assertTellsTheCommands(told);
    assertTrue(told.endsWith(said.isEmpty() ? "" : said + "\n"), told);
  }

  @ParameterizedTest
  @ValueSource(strings = {"help", "--help", "-h"})
  void whoeverAsksIsToldTheCommands(String command) throws Exception {
    assertTellsTheCommands(said(command, 0));
  }

  private static void assertTellsTheCommands(String told) {
    for (String known : List.of("doctor", "demo", "rail", "bench", "soak", "kit", "regenerate")) {
      assertTrue(told.contains("metrale " + known), told);
    }
  }

  private static String refused(String command) throws Exception {
    return said(command, 2);
  }

  /** What the command says on its way out with this status. */
  private static String said(String command, int status) throws Exception {
    List<String> all = new ArrayList<>();
    all.add(Fakes.repository().resolve("metrale").toString());
    all.addAll(Arrays.asList(command.split(" ", -1)));
    Process process = new ProcessBuilder(all).redirectErrorStream(true).start();
    process.getOutputStream().close();
    try {
      assertTrue(process.waitFor(DEADLINE_SECONDS, TimeUnit.SECONDS), command);
      assertEquals(status, process.exitValue(), command);
      return new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    } finally {
      process.destroyForcibly();
    }
  }
}
