package org.metrale.gpu.env;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EnvironmentTest {
  private static final List<String> CHAIN = List.of("FIRST", "SECOND", "THIRD");

  @Test
  void emptyCountsAsSet() {
    assertEquals("", Environment.of(Map.of("FIRST", "", "SECOND", "b")).firstSet(CHAIN, "d"));
  }

  @Test
  void emptyIsSkippedWhereItShallNotCount() {
    Environment environment = Environment.of(Map.of("FIRST", "", "SECOND", "b", "THIRD", "c"));
    assertEquals("b", environment.firstNonempty(CHAIN, "d"));
  }

  @Test
  void defaultIsAnsweredWhenNothingIsSet() {
    Environment none = Environment.of(Map.of("OTHER", "x"));
    assertEquals("d", none.firstSet(CHAIN, "d"));
    assertEquals("d", none.firstNonempty(CHAIN, "d"));
    assertEquals(3, none.firstSetU32(CHAIN, 3));
    assertEquals("d", Environment.of(Map.of("FIRST", "")).firstNonempty(CHAIN, "d"));
  }

  @ParameterizedTest
  @CsvSource({
    "7,7",
    "+7,7",
    "007,7",
    "0,0",
    "+0,0",
    "4294967295,4294967295",
    "00000000000000000004294967295,4294967295"
  })
  void numbersAreDecimalWithOrWithoutAPlus(String text, long number) {
    assertEquals(number, Environment.of(Map.of("FIRST", text)).firstSetU32(CHAIN, 99));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "+",
        "-0",
        "-1",
        " 7",
        "7 ",
        "0x7",
        "7u",
        "++7",
        "+-7",
        "1_000",
        "4294967296",
        "99999999999999999999999",
        "\u0667",
        "1.0"
      })
  void whatIsNoNumberFallsThrough(String text) {
    Environment environment = Environment.of(Map.of("FIRST", text, "THIRD", "5"));
    assertEquals(5, environment.firstSetU32(CHAIN, 99));
  }

  @Test
  void switchIsOnOnlyIfExactlyOne() {
    assertTrue(Environment.of(Map.of("S", "1")).isOne("S"));
    for (String text : List.of("", "0", "true", "1 ", "01", "yes")) {
      assertFalse(Environment.of(Map.of("S", text)).isOne("S"));
    }
  }

  @Test
  void strictTextRejectsAnEmptyVariableAndNamesIt() {
    Environment environment = Environment.of(Map.of("SECOND", "", "THIRD", "c"));
    Setting<String> setting = environment.strictText(CHAIN, "d");
    Setting.Rejected<?> rejected = assertInstanceOf(Setting.Rejected.class, setting);
    assertEquals("SECOND", rejected.name());
    IllegalArgumentException e = assertThrows(IllegalArgumentException.class, setting::orThrow);
    assertEquals(
        "SECOND=\"\": wanted a text that is not empty; correct it or unset it", e.getMessage());
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "x", "0", "129", "-1", "4294967296"})
  void strictNumberRejectsWhatTheLenientOneSkips(String text) {
    Environment environment = Environment.of(Map.of("FIRST", text, "SECOND", "5"));
    Setting<Long> setting = environment.strictNumber(CHAIN, 16, new NumberRange(1, 128));
    assertEquals(new Setting.Rejected<Long>("FIRST", text, "a number from 1 to 128"), setting);
  }

  @Test
  void strictLookUpsSayWhereAValueComesFrom() {
    Environment environment = Environment.of(Map.of("SECOND", "5"));
    assertEquals(
        new Setting.Found<>("SECOND", 5L), environment.strictNumber(CHAIN, 16, NumberRange.U32));
    assertEquals(new Setting.Found<>("SECOND", "5"), environment.strictText(CHAIN, "d"));
    assertEquals(new Setting.Defaulted<>("d"), environment.strictText(List.of("NONE"), "d"));
    assertEquals(16L, environment.strictNumber(List.of("NONE"), 16, NumberRange.U32).orThrow());
  }

  @Test
  void strictSwitchKnowsOnAndOffAndRejectsTheRest() {
    assertEquals(false, Environment.of(Map.of()).strictSwitch("S").orThrow());
    assertEquals(false, Environment.of(Map.of("S", "0")).strictSwitch("S").orThrow());
    assertEquals(true, Environment.of(Map.of("S", "1")).strictSwitch("S").orThrow());
    Setting<Boolean> mistyped = Environment.of(Map.of("S", "yes")).strictSwitch("S");
    assertEquals(new Setting.Rejected<Boolean>("S", "yes", "0 or 1"), mistyped);
  }

  @Test
  void laterChangesOfTheMapAreNotSeen() {
    Map<String, String> variables = new HashMap<>(Map.of("FIRST", "a"));
    Environment environment = Environment.of(variables);
    variables.put("FIRST", "b");
    assertEquals(Optional.of("a"), environment.value("FIRST"));
    assertEquals(Optional.empty(), environment.value("SECOND"));
  }

  @Test
  void processEnvironmentHoldsNoValueThatIsNoText() {
    Environment environment = Environment.ofProcess();
    System.getenv()
        .forEach(
            (name, value) ->
                assertEquals(value.indexOf('\uFFFD') < 0, environment.value(name).isPresent()));
  }

  @Test
  void rangesRefuseBoundsThatMakeNoSense() {
    assertThrows(IllegalArgumentException.class, () -> new NumberRange(2, 1));
    assertThrows(IllegalArgumentException.class, () -> new NumberRange(-1, 1));
    assertThrows(IllegalArgumentException.class, () -> new NumberRange(0, 1L << 32));
    Environment environment = Environment.of(Map.of());
    assertThrows(IllegalArgumentException.class, () -> environment.firstSetU32(CHAIN, -1));
  }
}
