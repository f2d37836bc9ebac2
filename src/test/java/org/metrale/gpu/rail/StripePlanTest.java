package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Random;
import org.junit.jupiter.api.Test;

final class StripePlanTest {
  @Test
  void coversEveryByteOnceWithinTheLimits() {
    Random random = new Random(11);
    for (int i = 0; i < 10_000; i++) {
      long length = 1 + (random.nextLong() >>> (1 + random.nextInt(62))) % (1L << 40);
      int rails = 1 + random.nextInt(8);
      long chunk = 1 + random.nextInt(8 << 20);
      long message = 1 + (random.nextLong() >>> 33);
      StripePlan plan = StripePlan.of(length, rails, chunk, message);
      assertTrue(plan.pieceBytes() <= Math.min(chunk, message), plan::toString);
      long last = (plan.pieces() - 1) * plan.pieceBytes();
      assertEquals(length, last + plan.pieceAt(last));
      assertTrue(plan.pieceAt(last) > 0);
    }
  }

  @Test
  void shortTransfersAreNotCutAndLongOnesAreShared() {
    assertEquals(1, StripePlan.of(65_536, 8, 1 << 20, 1 << 30).pieces());
    assertEquals(2, StripePlan.of(1 << 20, 2, 1 << 20, 1 << 30).pieces());
    assertEquals(4096, StripePlan.of(1L << 32, 2, 1 << 20, 1 << 30).pieces());
    // A message of more than 4 GiB does not exist, whatever is asked for.
    assertEquals(5, StripePlan.of(5L << 30, 1, 1L << 40, 1 << 30).pieces());
  }

  @Test
  void nothingIsNoTransfer() {
    assertThrows(IllegalArgumentException.class, () -> StripePlan.of(0, 1, 1, 1));
    assertThrows(IllegalArgumentException.class, () -> StripePlan.of(1, 0, 1, 1));
  }
}
