package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class GdsPatternTest {
  @Test
  void readsSmallFilesToTheirEnd() {
    GdsPattern pattern = GdsPattern.sequential(3000, 1024, 1 << 20);
    assertArrayEquals(new long[] {0, 1024, 2048}, pattern.offsets());
    assertEquals(952, pattern.lengthAt(2, 3000));
  }

  @Test
  void readsAFileThatIsShorterThanABlockAtOnce() {
    GdsPattern pattern = GdsPattern.sequential(1000, 4 << 20, 256 << 20);
    assertEquals(1000, pattern.blockBytes());
    assertEquals("sequential, 1 read of 1000 B", pattern.toString());
  }

  @Test
  void readsNoMoreThanAsked() {
    assertEquals(4, GdsPattern.sequential(1 << 20, 1024, 4096).offsets().length);
  }

  @Test
  void hasNoRandomReadInAFileThatIsTooShort() {
    assertEquals(0, GdsPattern.random(1023, 1024, 100).offsets().length);
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 10, 610, 1000, 4096})
  void readsNoBlockTwice(long blocks) {
    GdsPattern pattern = GdsPattern.random(blocks * 1024 + 5, 1024, 1000);
    long[] offsets = pattern.offsets();
    assertEquals(Math.min(blocks, 1000), offsets.length);
    assertEquals(offsets.length, Arrays.stream(offsets).distinct().count());
    assertTrue(Arrays.stream(offsets).allMatch(o -> o % 1024 == 0 && o < blocks * 1024));
  }
}
