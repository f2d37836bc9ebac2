package org.metrale.gpu.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.metrale.gpu.cufile.CuFileJvm.run;

import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.metrale.gpu.ForkedJvm;

/** Public calls that no other test makes, on the software GPU host. */
@Tag("emulator")
final class CuFileCallsTest {
  @TempDir Path folder;

  private ForkedJvm jvm(String scenario) {
    return CuFileJvm.of(CuFileCallsScenario.class, scenario, folder);
  }

  @Test
  void asksAndReads() throws Exception {
    ForkedJvm.Result result = run(jvm("calls"));
    assertEquals("3000017", result.value("size"));
    for (String key :
        new String[] {"alignment", "fileSystem", "timed", "channelRight", "hostRight", "library"}) {
      assertEquals("true", result.value(key), key);
    }
    assertEquals("GDS", result.value("channel"));
    assertTrue(
        result.value("host").startsWith("CuFileTransfer[lengthBytes=8192, route=GDS"),
        result.output());
    assertEquals("8192", result.value("position"));
    assertEquals("false", result.value("unknown"));
    assertTrue(result.value("version").startsWith("1.20"), result.output());
    assertEquals("not opened", result.value("look"));
    assertEquals("false", result.value("properties"));
    assertEquals("ERROR", result.value("level"));
    // What is taken when the driver is opened cannot be changed later.
    assertTrue(result.value("set").contains("CU_FILE_DRIVER_ALREADY_OPEN (5026)"), result.output());
  }

  @Test
  void writesEveryWay() throws Exception {
    ForkedJvm.Result result = run(jvm("writes"));
    assertEquals(
        "CuFileTransfer[lengthBytes=12288, route=GDS, directBytes=12288]", result.value("async"));
    assertEquals("true", result.value("result"));
    assertEquals("4096", result.value("timed"));
    assertEquals("100", result.value("host"));
    assertEquals("[4096, 4096]", result.value("batch"));
    assertEquals("1", result.value("cancelled"));
    assertEquals("true", result.value("right"));
  }

  @Test
  void takesMemoryOfEveryKind() throws Exception {
    ForkedJvm.Result result = run(jvm("memories"));
    assertEquals("true", result.value("registered"));
    assertEquals("[8192, 8192, 4096]", result.value("lengths"));
    assertEquals("[true, false, false]", result.value("onDevice"));
    assertEquals(
        "CuFileTransfer[lengthBytes=8192, route=GDS, directBytes=8192]", result.value("range"));
    assertTrue(
        result.value("host").startsWith("CuFileTransfer[lengthBytes=8192, "), result.output());
    assertTrue(
        result.value("direct").startsWith("CuFileTransfer[lengthBytes=4096, "), result.output());
    assertEquals("true", result.value("copied"));
    assertEquals("true", result.value("right"));
  }

  @Test
  void opensTheLibrarysDriverOnce() throws Exception {
    ForkedJvm.Result result =
        run(jvm("drivers").environment("METRALE_EMULATOR_CUFILE_REOPEN", "error"));
    assertEquals("open", result.value("second"));
    assertEquals("2", result.value("stillOpen"));
    assertEquals("open", result.value("third"));
    assertEquals("true", result.value("options"));
  }
}
