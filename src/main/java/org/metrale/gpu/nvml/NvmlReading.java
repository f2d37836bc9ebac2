package org.metrale.gpu.nvml;

import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Function;
import java.util.function.Supplier;

/**
 * What a sensor answered: a value, that it does not exist, that this process may not read it, or
 * that reading it failed. The four are never taken for one another, and no code is lost.
 *
 * @param <T> what a value is; its unit stands in the name of the query
 */
public sealed interface NvmlReading<T> {
  /**
   * The sensor's value.
   *
   * @param <T> what a value is
   * @param value the value, in the unit that the query's name gives
   */
  record Value<T>(T value) implements NvmlReading<T> {
    /**
     * Keeps a value.
     *
     * @param value the value, never null
     */
    public Value {
      Objects.requireNonNull(value, "value");
    }
  }

  /**
   * This device or driver has no such sensor.
   *
   * @param <T> what a value would be
   * @param result how NVML said so: not supported, or no such function or structure in the library
   */
  record Absent<T>(NvmlResult result) implements NvmlReading<T> {}

  /**
   * The sensor exists, but this process may not read it.
   *
   * @param <T> what a value would be
   * @param result how NVML said so
   */
  record Denied<T>(NvmlResult result) implements NvmlReading<T> {}

  /**
   * The query failed; a GPU that is lost fails with {@link NvmlResult#GPU_IS_LOST}.
   *
   * @param <T> what a value would be
   * @param result why
   */
  record Failed<T>(NvmlResult result) implements NvmlReading<T> {}

  /**
   * The reading that a code stands for.
   *
   * @param <T> what a value is
   * @param result the code
   * @param value makes the value; called only if the code is success
   * @return the reading
   */
  static <T> NvmlReading<T> of(NvmlResult result, Supplier<T> value) {
    if (result.code() == 0) {
      return new Value<>(value.get());
    }
    if (result.isAbsent()) {
      return new Absent<>(result);
    }
    return result.equals(NvmlResult.NO_PERMISSION) ? new Denied<>(result) : new Failed<>(result);
  }

  /**
   * The code behind the reading.
   *
   * @return success for a value
   */
  default NvmlResult result() {
    if (this instanceof Absent<T> absent) {
      return absent.result();
    }
    if (this instanceof Denied<T> denied) {
      return denied.result();
    }
    return this instanceof Failed<T> failed ? failed.result() : NvmlResult.SUCCESS;
  }

  /**
   * The value, for callers to whom the three refusals are one.
   *
   * @return the value, or empty
   */
  default Optional<T> toOptional() {
    return this instanceof Value<T> present ? Optional.of(present.value()) : Optional.empty();
  }

  /**
   * The value, or else another one.
   *
   * @param other what to answer if there is no value
   * @return the value or the other one
   */
  default T orElse(T other) {
    return toOptional().orElse(other);
  }

  /**
   * The value, where there must be one.
   *
   * @return the value
   * @throws NoSuchElementException if there is none; the message has the code
   */
  default T orElseThrow() {
    return toOptional().orElseThrow(() -> new NoSuchElementException(toString()));
  }

  /**
   * The same reading of something else.
   *
   * @param <R> what the new value is
   * @param change makes the new value
   * @return the reading with its value changed, or the same refusal
   */
  default <R> NvmlReading<R> map(Function<? super T, ? extends R> change) {
    return this instanceof Value<T> present
        ? new Value<>(change.apply(present.value()))
        : of(result(), () -> null);
  }
}
