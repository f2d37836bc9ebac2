package org.metrale.gpu.env;

import java.util.Objects;

/**
 * What a strict look-up found.
 *
 * @param <T> what kind of value the setting has
 */
public sealed interface Setting<T> {
  /**
   * The value, found or defaulted.
   *
   * @return the value
   * @throws IllegalArgumentException if the variable's value was rejected; the message names the
   *     variable, its value and what is allowed
   */
  T orThrow();

  /**
   * A value that a variable gave.
   *
   * @param <T> what kind of value it is
   * @param name the variable that gave it
   * @param value the value
   */
  record Found<T>(String name, T value) implements Setting<T> {
    /**
     * Refuses nulls.
     *
     * @param name the variable that gave it
     * @param value the value
     */
    public Found {
      Objects.requireNonNull(name, "name");
      Objects.requireNonNull(value, "value");
    }

    @Override
    public T orThrow() {
      return value;
    }
  }

  /**
   * The default, since no variable of the chain exists.
   *
   * @param <T> what kind of value it is
   * @param value the default
   */
  record Defaulted<T>(T value) implements Setting<T> {
    /**
     * Refuses null.
     *
     * @param value the default
     */
    public Defaulted {
      Objects.requireNonNull(value, "value");
    }

    @Override
    public T orThrow() {
      return value;
    }
  }

  /**
   * A variable that exists and says nothing usable.
   *
   * @param <T> what kind of value was wanted
   * @param name the variable
   * @param text its value, as it is
   * @param wanted what is allowed, in words
   */
  record Rejected<T>(String name, String text, String wanted) implements Setting<T> {
    /**
     * Refuses nulls.
     *
     * @param name the variable
     * @param text its value, as it is
     * @param wanted what is allowed, in words
     */
    public Rejected {
      Objects.requireNonNull(name, "name");
      Objects.requireNonNull(text, "text");
      Objects.requireNonNull(wanted, "wanted");
    }

    @Override
    public T orThrow() {
      throw new IllegalArgumentException(complaint());
    }

    /**
     * What is wrong and what to do.
     *
     * @return one line that names the variable, its value and what is allowed
     */
    public String complaint() {
      return name + "=\"" + text + "\": wanted " + wanted + "; correct it or unset it";
    }
  }
}
