package org.metrale.gpu.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** For kernels of every page size, whatever this one's is. */
final class DirectSpanTest {
  private static final long MEMORY = 0x7f00_0000_0000L;

  @ParameterizedTest
  @CsvSource({"4096,512", "4096,4096", "16384,512", "16384,4096", "65536,512", "65536,65536"})
  void endsAndMiddleOfAWriteShareNoPage(long pageBytes, long alignment) {
    Random random = new Random(pageBytes + alignment);
    int found = 0;
    for (int i = 0; i < 2_000; i++) {
      long offset = random.nextInt(1 << 20);
      long length = random.nextInt(1 << 20);
      long address = MEMORY + offset % alignment;
      long step = DirectSpan.step(true, alignment, pageBytes);
      DirectSpan span = DirectSpan.of(step, alignment, address, length, offset);
      if (span.lengthBytes() > 0) {
        found++;
        assertEquals(0, (offset + span.headBytes()) % pageBytes);
        assertEquals(0, span.lengthBytes() % pageBytes);
        assertEquals(0, (address + span.headBytes()) % alignment);
        assertTrue(span.headBytes() + span.lengthBytes() <= length);
        assertTrue(length - span.headBytes() - span.lengthBytes() < step);
      }
    }
    assertTrue(found > 1_000, found + " of 2000");
  }

  @Test
  void readsNeedOnlyTheFilesAlignment() {
    assertEquals(512, DirectSpan.step(false, 512, 65_536));
    assertEquals(new DirectSpan(12, 512), DirectSpan.of(512, 4, MEMORY, 1_000, 500));
  }

  @Test
  void nothingIsDirectWhereMemoryAndOffsetAreNeverAlignedTogether() {
    assertEquals(DirectSpan.NONE, DirectSpan.of(4096, 512, MEMORY + 1, 1 << 20, 0));
    assertEquals(DirectSpan.NONE, DirectSpan.of(65_536, 512, MEMORY, 65_535, 0));
  }
}
