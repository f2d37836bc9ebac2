package org.metrale.gpu.env;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Environment variables at one moment, and the ways to look a setting up in them.
 *
 * <p>Each look-up takes a chain of names, most specific first. The three lenient ones answer what
 * deployed programs answer; each {@code strict} one answers a {@link Setting} that can be a {@link
 * Setting.Rejected}.
 *
 * <p><b>Threading:</b> immutable.
 */
public final class Environment {
  private final Map<String, String> variables;

  private Environment(Map<String, String> variables) {
    this.variables = Map.copyOf(variables);
  }

  /**
   * An environment of these variables.
   *
   * @param variables names and values; copied
   * @return the environment
   */
  public static Environment of(Map<String, String> variables) {
    return new Environment(variables);
  }

  /**
   * The environment of this process, as it is now.
   *
   * <p>A variable whose bytes are not text counts as unset: the JDK shows such bytes as U+FFFD, so
   * values holding that character are left out.
   *
   * @return the environment
   * @throws SecurityException if the process may not read it
   */
  public static Environment ofProcess() {
    Map<String, String> variables = new HashMap<>(System.getenv());
    variables.values().removeIf(value -> value.indexOf('\uFFFD') >= 0);
    return new Environment(variables);
  }

  /**
   * The value of one variable.
   *
   * @param name the variable's name
   * @return its value, which may be empty, or nothing if it is unset
   */
  public Optional<String> value(String name) {
    return Optional.ofNullable(variables.get(name));
  }

  /**
   * The value of the first variable that exists, even if it is empty.
   *
   * @param names the chain, most specific first
   * @param fallback what to answer if none exists
   * @return the value or the fallback
   */
  public String firstSet(List<String> names, String fallback) {
    Objects.requireNonNull(fallback, "fallback");
    for (String name : names) {
      String value = variables.get(name);
      if (value != null) {
        return value;
      }
    }
    return fallback;
  }

  /**
   * The value of the first variable that exists and is not empty.
   *
   * @param names the chain, most specific first
   * @param fallback what to answer if there is none
   * @return the value or the fallback
   */
  public String firstNonempty(List<String> names, String fallback) {
    Objects.requireNonNull(fallback, "fallback");
    for (String name : names) {
      String value = variables.get(name);
      if (value != null && !value.isEmpty()) {
        return value;
      }
    }
    return fallback;
  }

  /**
   * The value of the first variable that is a number; others are passed over.
   *
   * <p>A number is one or more decimal digits, of at most 2<sup>32</sup>-1 in value, with or
   * without one plus sign before them: no spaces, no minus, no hexadecimal, no separators.
   *
   * @param names the chain, most specific first
   * @param fallback what to answer if there is none, 0 to 2<sup>32</sup>-1
   * @return the number or the fallback, 0 to 2<sup>32</sup>-1
   * @throws IllegalArgumentException if the fallback is out of range
   */
  public long firstSetU32(List<String> names, long fallback) {
    Numbers.requireU32("fallback", fallback);
    for (String name : names) {
      String value = variables.get(name);
      OptionalLong number = value == null ? OptionalLong.empty() : Numbers.u32(value);
      if (number.isPresent()) {
        return number.getAsLong();
      }
    }
    return fallback;
  }

  /**
   * Whether a switch is on: its value is exactly {@code 1}.
   *
   * @param name the variable's name
   * @return true if it is, false for anything else
   */
  public boolean isOne(String name) {
    return "1".equals(variables.get(name));
  }

  /**
   * The text of the first variable that exists; an empty one is rejected.
   *
   * @param names the chain, most specific first
   * @param fallback what to answer if none exists
   * @return the setting
   */
  public Setting<String> strictText(List<String> names, String fallback) {
    Objects.requireNonNull(fallback, "fallback");
    for (String name : names) {
      String value = variables.get(name);
      if (value != null) {
        return value.isEmpty()
            ? new Setting.Rejected<>(name, value, "a text that is not empty")
            : new Setting.Found<>(name, value);
      }
    }
    return new Setting.Defaulted<>(fallback);
  }

  /**
   * The number in the first variable that exists; anything but a number of that range is rejected.
   *
   * @param names the chain, most specific first
   * @param fallback what to answer if none exists
   * @param range the numbers that are allowed
   * @return the setting
   */
  public Setting<Long> strictNumber(List<String> names, long fallback, NumberRange range) {
    for (String name : names) {
      String value = variables.get(name);
      if (value != null) {
        OptionalLong number = Numbers.u32(value);
        return number.isPresent() && range.contains(number.getAsLong())
            ? new Setting.Found<>(name, number.getAsLong())
            : new Setting.Rejected<>(name, value, range.toString());
      }
    }
    return new Setting.Defaulted<>(fallback);
  }

  /**
   * Whether a switch is on; anything but {@code 0} and {@code 1} is rejected.
   *
   * @param name the variable's name
   * @return the setting, off if the variable is unset
   */
  public Setting<Boolean> strictSwitch(String name) {
    String value = variables.get(name);
    if (value == null) {
      return new Setting.Defaulted<>(false);
    }
    return switch (value) {
      case "0" -> new Setting.Found<>(name, false);
      case "1" -> new Setting.Found<>(name, true);
      default -> new Setting.Rejected<>(name, value, "0 or 1");
    };
  }
}
