package org.metrale.gpu.env;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class KvPagingTest {
  private static final long BLOCK = 3 << 20;

  private static Optional<KvPaging> read(Map<String, String> more) {
    Map<String, String> all = new HashMap<>();
    all.put("METRALE_KV_PAGING", "1");
    all.put("METRALE_KV_PAGING_ARENA_GB", "1.5");
    all.put("METRALE_KV_PAGING_NS", "7");
    all.putAll(more);
    return KvPaging.strict(Environment.of(all), BLOCK);
  }

  private static String complaint(String name, String value) {
    return assertThrows(IllegalArgumentException.class, () -> read(Map.of(name, value)))
        .getMessage();
  }

  @Test
  void isOffUnlessItIsSwitchedOn() {
    assertEquals(Optional.empty(), KvPaging.strict(Environment.of(Map.of()), BLOCK));
    assertEquals(Optional.empty(), read(Map.of("METRALE_KV_PAGING", "0")));
    assertTrue(complaint("METRALE_KV_PAGING", "yes").contains("wanted 0 or 1"));
  }

  @Test
  void anArenaIsWholeBlocks() {
    KvPaging found = read(Map.of()).orElseThrow();
    assertEquals((3L << 29) / BLOCK * BLOCK, found.arenaBytes());
    assertEquals(new KvPaging(found.arenaBytes(), 7, OptionalLong.empty()), found);
  }

  @ParameterizedTest
  @CsvSource({
    "10, 10",
    "0x10, 16",
    "0xFFFFFFFFFFFFFFFF, -1",
    "18446744073709551615, -1",
    "0xabC, 2748"
  })
  void numbersAreDecimalOrHexadecimal(String text, long value) {
    KvPaging found =
        read(Map.of("METRALE_KV_PAGING_NS", text, "METRALE_KV_PAGING_SALT", text)).orElseThrow();
    assertEquals(value, found.namespace());
    assertEquals(OptionalLong.of(value), found.salt());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "0", "-1", "0x", "1e3", "18446744073709551616", " 1", "0X1"})
  void aNamespaceIsANumberThatIsNotZero(String text) {
    assertTrue(complaint("METRALE_KV_PAGING_NS", text).contains("METRALE_KV_PAGING_NS=\"" + text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "0", "-1", "0.000001", "1e3", "NaN", ".5", "1.", "9999999999"})
  void anArenaHoldsABlock(String text) {
    assertTrue(complaint("METRALE_KV_PAGING_ARENA_GB", text).contains("at least one block"));
  }

  @Test
  void everythingThatIsWrongIsSaidAtOnce() {
    String message =
        assertThrows(
                IllegalArgumentException.class,
                () ->
                    KvPaging.strict(
                        Environment.of(
                            Map.of("METRALE_KV_PAGING", "1", "METRALE_KV_PAGING_SALT", "x")),
                        BLOCK))
            .getMessage();
    assertTrue(message.contains("METRALE_KV_PAGING_ARENA_GB is not set"), message);
    assertTrue(message.contains("METRALE_KV_PAGING_NS is not set"), message);
    assertTrue(message.contains("METRALE_KV_PAGING_SALT=\"x\""), message);
  }
}
