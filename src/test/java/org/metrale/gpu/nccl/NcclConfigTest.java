package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import org.bytedeco.javacpp.Loader;
import org.junit.jupiter.api.Test;
import org.metrale.nccl.ncclConfig_t;

class NcclConfigTest {
  @Test
  void leavesUnsetWhatIsNotSet() {
    long[] fields = NcclConfig.defaults().fields(2_32_03, 0, 0);
    for (ConfigField field : ConfigField.values()) {
      long expected = Integer.MIN_VALUE;
      if (field == ConfigField.NET_NAME || field == ConfigField.COMM_NAME) {
        expected = 0;
      } else if (field == ConfigField.BLOCKING) {
        expected = 0;
      }
      assertEquals(expected, fields[field.place()], field.cName);
    }
  }

  @Test
  void stampsTheSizeThatTheLoadedVersionKnows() {
    assertEquals(48, NcclConfig.defaults().fields(2_22_03, 0, 0)[0]);
    assertEquals(22203, NcclConfig.defaults().fields(2_22_03, 0, 0)[1]);
    assertEquals(48, ConfigField.structBytes(2_18_01));
    assertEquals(88, ConfigField.structBytes(2_29_07));
    assertEquals(96, ConfigField.structBytes(2_30_05));
  }

  @Test
  void refusesSettingsNewerThanTheLibrary() {
    NcclConfig config =
        NcclConfig.builder().minCtas(2).setting("CTAPolicy", 1).setting("numRmaCtx", 2).build();
    String message =
        assertThrows(IllegalArgumentException.class, () -> config.fields(2_22_03, 0, 0))
            .getMessage();
    assertTrue(message.contains("NCCL 2.22.3"), message);
    assertTrue(message.contains("CTAPolicy (from 2.27.3 on), numRmaCtx (from 2.29.2 on)"), message);
    long[] warned =
        NcclConfig.builder()
            .minCtas(2)
            .setting("CTAPolicy", 1)
            .warnOfNewerSettings()
            .build()
            .fields(2_22_03, 0, 0);
    assertEquals(2, warned[ConfigField.MIN_CTAS.place()]);
    assertEquals(Integer.MIN_VALUE, warned[ConfigField.CTA_POLICY.place()]);
  }

  @Test
  void knowsTheLayoutOfTheHeader() {
    int end = 0;
    for (ConfigField field : ConfigField.values()) {
      boolean text = field == ConfigField.NET_NAME || field == ConfigField.COMM_NAME;
      int offset = Loader.offsetof(ncclConfig_t.class, field.cName);
      assertEquals(field.endBytes, offset + (text ? 8 : 4), field.cName);
      end = field.endBytes;
    }
    assertEquals(Loader.sizeof(ncclConfig_t.class), (end + 7) / 8 * 8);
    assertEquals(ConfigField.structBytes(2_32_03), Loader.sizeof(ncclConfig_t.class));
  }

  @Test
  void refusesWhatMakesNoSense() {
    NcclConfig.Builder builder = NcclConfig.builder();
    assertThrows(IllegalArgumentException.class, () -> builder.recordedOperations(100));
    assertThrows(IllegalArgumentException.class, () -> builder.operationTimeout(Duration.ZERO));
    assertThrows(IllegalArgumentException.class, () -> builder.setting("noSuchThing", 1));
  }

  @Test
  void namesEveryResultOfTheHeaderAndKeepsOthers() {
    for (int code = 0; code < 9; code++) {
      assertTrue(new NcclResult(code).symbol().matches("nccl[A-Z][A-Za-z]+"));
    }
    assertEquals("ncclResult(77)", new NcclResult(77).symbol());
  }

  @Test
  void encodesScalarsOfEveryType() {
    for (NcclDataType type : NcclDataType.values()) {
      for (double value : new double[] {0, 1, 2, 0.5, 3, 0.25, 6}) {
        if (Reference.isWhole(type) && value != Math.rint(value)) {
          continue;
        }
        try (var element = Scalars.encode(type, value)) {
          byte[] found = new byte[type.bytes()];
          element.get(found);
          assertEquals(
              java.util.Arrays.toString(Reference.elements(type, 1, i -> value)),
              java.util.Arrays.toString(found),
              type + " " + value);
        }
      }
    }
  }
}
