package org.metrale.gpu.nvtx;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class NvtxTextTest {
  private static String text(byte[] bytes) {
    assertEquals(0, bytes[bytes.length - 1]);
    return new String(bytes, 0, bytes.length - 1, StandardCharsets.UTF_8);
  }

  @Test
  void endsPlainTextInNul() {
    assertArrayEquals(new byte[] {'a', 'b', 0}, NvtxText.bytes("ab"));
  }

  @Test
  void keepsWhatIsBeyondAscii() {
    assertEquals(
        "caf\u00E9 \u6E2C \uD83D\uDE80", text(NvtxText.bytes("caf\u00E9 \u6E2C \uD83D\uDE80")));
  }

  @Test
  void showsNulAsItsSymbol() {
    assertEquals("a\u2400b", text(NvtxText.bytes("a\0b")));
  }

  @Test
  void replacesSurrogatesWithoutPartner() {
    assertEquals("\uFFFD", text(NvtxText.bytes("\uD800")));
    assertEquals("x\uFFFDy\uFFFD", text(NvtxText.bytes("x\uDC00y\uDBFF")));
  }

  @Test
  void makesOneTerminatedTextOfAnything() {
    Random random = new Random(20261130);
    for (int i = 0; i < 100_000; i++) {
      char[] any = new char[random.nextInt(12)];
      for (int at = 0; at < any.length; at++) {
        any[at] = (char) random.nextInt(0x10000);
      }
      byte[] bytes = NvtxText.bytes(new String(any));
      for (int at = 0; at < bytes.length - 1; at++) {
        assertEquals(false, bytes[at] == 0);
      }
    }
  }
}
