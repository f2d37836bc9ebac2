package org.metrale.gpu.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.wire.KvGeometry.Block;
import org.metrale.gpu.wire.KvGeometry.Half;

class CacheKeysTest {
  private static final long FINGERPRINT = 0x5629_922c_51a1_6a10L;
  private static final long SALT = 0xD00D_F00D_0000_0001L;
  private static final Block BLOCK = new Block(16, 128, 2, 4096);
  private static final KvGeometry GEOMETRY = new KvGeometry(80, 4096, 8, BLOCK);

  @ParameterizedTest
  @CsvSource({"'',cbf29ce484222325", "a,af63dc4c8601ec8c", "foobar,85944171f73967e8"})
  void fnvMatchesItsPublishedVectors(String text, String hash) {
    ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.US_ASCII));
    assertEquals(hash, Long.toHexString(CacheKeys.fnv1a64(bytes)));
  }

  @Test
  void mixMatchesWhatDeployedClientsSend() {
    assertEquals(0, CacheKeys.mix64(0, 0));
    assertEquals(0xbeeb_8da1_658e_ec67L, CacheKeys.mix64(1, 2));
    assertEquals(
        0xe567_5d86_f750_1640L, CacheKeys.mix64(0x5EED_F00D_CAFE_D00DL, 0xD3C0_DE12_A5B6_C7D8L));
  }

  @Test
  void namespaceMatchesWhatDeployedClientsDerive() {
    KvNamespace namespace = KvNamespace.of(FINGERPRINT, GEOMETRY, SALT);
    assertEquals(0x74b4_02b0_f421_5375L, namespace.value());
    assertEquals(0x6d2d_470e_f594_7d4bL, CacheKeys.mix64(42, namespace.value()));
  }

  @Test
  void everyInputChangesTheNamespace() {
    List<KvNamespace> others =
        List.of(
            KvNamespace.of(FINGERPRINT ^ 1, GEOMETRY, SALT),
            KvNamespace.of(FINGERPRINT, GEOMETRY, SALT ^ 1),
            KvNamespace.of(FINGERPRINT, new KvGeometry(48, 4096, 8, BLOCK), SALT),
            KvNamespace.of(FINGERPRINT, new KvGeometry(80, 2048, 8, BLOCK), SALT),
            KvNamespace.of(FINGERPRINT, new KvGeometry(80, 4096, 4, BLOCK), SALT),
            withBlock(new Block(32, 128, 2, 4096)),
            withBlock(new Block(16, 64, 2, 4096)),
            withBlock(new Block(16, 128, 1, 4096)),
            withBlock(new Block(16, 128, 2, 512)));
    KvNamespace base = KvNamespace.of(FINGERPRINT, GEOMETRY, SALT);
    others.forEach(other -> assertNotEquals(base, other));
    assertEquals(others.size(), others.stream().distinct().count());
  }

  @Test
  void geometryNumbersGroupsDensely() {
    KvGeometry small = new KvGeometry(2, 3, 4, BLOCK);
    long expected = 0;
    for (int layer = 0; layer < 2; layer++) {
      for (int block = 0; block < 3; block++) {
        for (Half half : Half.values()) {
          for (int head = 0; head < 4; head++) {
            assertEquals(expected++, small.groupId(layer, block, head, half));
          }
        }
      }
    }
    assertEquals(expected * BLOCK.strideBytes(), small.arenaBytes());
    assertThrows(IndexOutOfBoundsException.class, () -> small.groupId(2, 0, 0, Half.KEYS));
  }

  @Test
  void strideIsRoundedUpToTheFileSystemBlock() {
    assertEquals(4096, BLOCK.strideBytes());
    assertEquals(4608, new Block(17, 128, 2, 512).strideBytes());
    assertEquals(65_536, GEOMETRY.blobBytes());
  }

  @Test
  void blockKeyIsThatOfItsFirstGroup() {
    KvNamespace namespace = KvNamespace.of(FINGERPRINT, GEOMETRY, SALT);
    long group = GEOMETRY.groupId(3, 7, 0, Half.KEYS);
    assertEquals(CacheKeys.mix64(group, namespace.value()), namespace.key(GEOMETRY, 3, 7));
  }

  @Test
  void refusesEmptyGeometriesOverflowAndNamespaceZero() {
    assertThrows(IllegalArgumentException.class, () -> new KvNamespace(0));
    assertThrows(IllegalArgumentException.class, () -> new Block(0, 1, 1, 1));
    assertThrows(IllegalArgumentException.class, () -> new KvGeometry(1, 0, 1, BLOCK));
    int most = Integer.MAX_VALUE;
    assertThrows(ArithmeticException.class, () -> new Block(most, most, most, 4096));
    KvGeometry huge = new KvGeometry(most, most, most, BLOCK);
    assertThrows(ArithmeticException.class, huge::arenaBytes);
  }

  private static KvNamespace withBlock(Block block) {
    return KvNamespace.of(FINGERPRINT, new KvGeometry(80, 4096, 8, block), SALT);
  }
}
