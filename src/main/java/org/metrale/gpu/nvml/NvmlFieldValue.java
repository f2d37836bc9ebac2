package org.metrale.gpu.nvml;

import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;

/**
 * What a field answered.
 *
 * @param field what was asked
 * @param reading the value as a whole number; a fraction is cut off, see {@link #real()}
 * @param real the value as a real number, 0 if there is none
 * @param takenAt when the driver took it
 */
public record NvmlFieldValue(
    NvmlField field, NvmlReading<Long> reading, double real, Instant takenAt) {
  /** Layout of {@code nvmlFieldValue_t}. */
  private static final int BYTES = 40;

  private static final int SCOPE_OFFSET = 4;
  private static final int TIMESTAMP_OFFSET = 8;
  private static final int TYPE_OFFSET = 24;
  private static final int CODE_OFFSET = 28;
  private static final int VALUE_OFFSET = 32;
  private static final int MOST = 1000;

  static List<NvmlFieldValue> read(NvmlDevice device, List<NvmlField> fields) {
    if (fields.isEmpty()) {
      return List.of();
    }
    if (fields.size() > MOST) {
      throw new IllegalArgumentException(fields.size() + " fields, at most " + MOST);
    }
    NvmlDriverVersion driver = device.session().driver();
    List<NvmlField> asked = List.copyOf(fields); // also while the call is late
    return device.call("nvmlDeviceGetFieldValues", () -> read(device.handle(), asked, driver));
  }

  private static List<NvmlFieldValue> read(
      long handle, List<NvmlField> fields, NvmlDriverVersion driver) {
    NvmlScratch scratch = NvmlScratch.ofThread().atLeast(fields.size() * BYTES);
    for (int i = 0; i < fields.size(); i++) {
      ask(scratch.bytes(), i * BYTES, fields.get(i), driver);
    }
    NvmlResult result = NvmlCalls.metrale_nvml_fields(handle, scratch, fields.size());
    List<NvmlFieldValue> out = new ArrayList<>();
    for (int i = 0; i < fields.size(); i++) {
      out.add(answer(scratch.bytes(), i * BYTES, fields.get(i), result));
    }
    return List.copyOf(out);
  }

  private static void ask(ByteBuffer bytes, int at, NvmlField field, NvmlDriverVersion driver) {
    for (int word = 0; word < BYTES; word += Long.BYTES) {
      bytes.putLong(at + word, 0);
    }
    bytes.putInt(at, field.idFor(driver));
    bytes.putInt(at + SCOPE_OFFSET, field.scope());
  }

  private static NvmlFieldValue answer(
      ByteBuffer bytes, int at, NvmlField field, NvmlResult whole) {
    int code = whole.code() != 0 ? whole.code() : bytes.getInt(at + CODE_OFFSET);
    // A field that is newer than the driver is an invalid argument to it.
    NvmlResult result =
        code == NvmlResult.INVALID_ARGUMENT.code()
            ? NvmlResult.NOT_SUPPORTED
            : new NvmlResult(code);
    int type = bytes.getInt(at + TYPE_OFFSET);
    long raw = bytes.getLong(at + VALUE_OFFSET);
    long whole64 =
        switch (type) {
          case 0 -> (long) Double.longBitsToDouble(raw);
          case 1 -> raw & 0xFFFF_FFFFL;
          case 5 -> (int) raw;
          case 6 -> raw & 0xFFFFL;
          default -> raw;
        };
    double real =
        result.code() != 0 ? 0 : type == 0 ? Double.longBitsToDouble(raw) : (double) whole64;
    return new NvmlFieldValue(
        field,
        NvmlReading.of(result, () -> whole64),
        real,
        Instant.EPOCH.plus(bytes.getLong(at + TIMESTAMP_OFFSET), ChronoUnit.MICROS));
  }
}
