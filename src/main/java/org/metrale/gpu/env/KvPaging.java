package org.metrale.gpu.env;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * How KV blocks are paged to a cache peer, from {@code METRALE_KV_PAGING} and the variables beside
 * it.
 *
 * @param arenaBytes how much of the peer's memory, a whole number of blocks, from 1 block
 * @param namespace which blocks are one's own, not 0; unsigned
 * @param salt what sets this client's keys apart; none if it is to be drawn at random
 */
public record KvPaging(long arenaBytes, long namespace, OptionalLong salt) {
  private static final String SWITCH = "METRALE_KV_PAGING";
  private static final String ARENA = "METRALE_KV_PAGING_ARENA_GB";
  private static final String NAMESPACE = "METRALE_KV_PAGING_NS";
  private static final String SALT = "METRALE_KV_PAGING_SALT";
  private static final BigDecimal GIB = BigDecimal.valueOf(1L << 30);

  /**
   * What an environment says.
   *
   * @param environment where to look
   * @param blockBytes how long one block is, from 1
   * @return the settings, or nothing if paging is off
   * @throws IllegalArgumentException if a variable that counts is missing or mistyped; the message
   *     has a line for each
   */
  public static Optional<KvPaging> strict(Environment environment, long blockBytes) {
    if (blockBytes < 1) {
      throw new IllegalArgumentException("blockBytes: wanted 1 or more, got " + blockBytes);
    }
    if (!environment.strictSwitch(SWITCH).orThrow()) {
      return Optional.empty();
    }
    List<String> complaints = new ArrayList<>();
    long arena =
        number(
            environment,
            ARENA,
            text -> arenaBytes(text, blockBytes),
            "a number of GiB, at least one block of " + blockBytes + " bytes",
            complaints);
    String unsigned = "a number of 64 bits, decimal or with 0x";
    long namespace =
        number(
            environment,
            NAMESPACE,
            text -> unsigned(text).filter(value -> value != 0),
            unsigned + ", not 0",
            complaints);
    OptionalLong salt = OptionalLong.empty();
    if (environment.value(SALT).isPresent()) {
      salt =
          OptionalLong.of(number(environment, SALT, KvPaging::unsigned, unsigned, complaints));
    }
    if (!complaints.isEmpty()) {
      throw new IllegalArgumentException("KV paging:\n  " + String.join("\n  ", complaints));
    }
    return Optional.of(new KvPaging(arena, namespace, salt));
  }

  /** How a variable's text is read. */
  private interface Reading {
    Optional<Long> of(String text);
  }

  /** The number in a variable; 0 with a complaint if there is none. */
  private static long number(
      Environment environment,
      String name,
      Reading reading,
      String wanted,
      List<String> complaints) {
    Optional<String> text = environment.value(name);
    Optional<Long> value = text.flatMap(reading::of);
    if (value.isEmpty()) {
      complaints.add(
          text.isEmpty()
              ? name + " is not set: wanted " + wanted
              : new Setting.Rejected<Long>(name, text.get(), wanted).complaint());
    }
    return value.orElse(0L);
  }

  /** Whole blocks only; a fraction of a GiB may be given, as plain digits. */
  private static Optional<Long> arenaBytes(String text, long blockBytes) {
    if (!text.matches("[0-9]{1,9}(\\.[0-9]{1,18})?")) {
      return Optional.empty();
    }
    long bytes = new BigDecimal(text).multiply(GIB).longValue();
    long whole = bytes / blockBytes * blockBytes;
    return whole == 0 ? Optional.empty() : Optional.of(whole);
  }

  private static Optional<Long> unsigned(String text) {
    boolean hex = text.startsWith("0x");
    if (!text.matches(hex ? "0x[0-9a-fA-F]{1,16}" : "[0-9]{1,20}")) {
      return Optional.empty();
    }
    BigInteger value = hex ? new BigInteger(text.substring(2), 16) : new BigInteger(text);
    return value.bitLength() > 64 ? Optional.empty() : Optional.of(value.longValue());
  }
}
