package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class QuantitiesTest {
  @ParameterizedTest
  @CsvSource({
    "0,0",
    "1,1",
    "64K,65536",
    "4M,4194304",
    "1GiB,1073741824",
    "2 kb,2048",
    "1T,1099511627776"
  })
  void readsSizes(String text, long bytes) {
    assertEquals(bytes, Quantities.parseBytes(text));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "-1", "K", "1.5G", "4Q", "999999999999T", "1 2"})
  void refusesWhatIsNoSize(String text) {
    assertThrows(IllegalArgumentException.class, () -> Quantities.parseBytes(text));
  }

  @Test
  void writesSizesTimesAndRates() {
    assertEquals("1023 B", Quantities.bytes(1023));
    assertEquals("1.5 KiB", Quantities.bytes(1536));
    assertEquals("140.4 GiB", Quantities.bytes(150754820096L));
    assertEquals("1.5 us", Quantities.nanos(1500));
    assertEquals("2.50 ms", Quantities.nanos(2_500_000));
    assertEquals("3.00 s", Quantities.nanos(3_000_000_000L));
    assertEquals("1.20 GB/s", Quantities.bandwidth(1.2e9));
    assertEquals("999.0 MB/s", Quantities.bandwidth(0.999e9));
  }
}
