package org.metrale.tools;

import java.util.LinkedHashMap;
import java.util.Map;
import org.metrale.gpu.nvml.NvmlReading;

/** Readings as a user sees them: a value, or which of the three refusals it is. */
final class TopReadings {
  private TopReadings() {}

  /** One word where there is no value. */
  static String refusal(NvmlReading<?> reading) {
    if (reading instanceof NvmlReading.Absent<?>) {
      return "absent";
    }
    return reading instanceof NvmlReading.Denied<?>
        ? "denied"
        : "failed(" + reading.result().code() + ")";
  }

  static boolean isRefusal(String text) {
    return text.equals("absent") || text.equals("denied") || text.startsWith("failed(");
  }

  /** The value's text, or the refusal. */
  static String text(NvmlReading<?> reading) {
    return reading.toOptional().map(Object::toString).orElseGet(() -> refusal(reading));
  }

  /** The value, or an object with the refusal and NVML's code for it. */
  static Object json(NvmlReading<?> reading) {
    if (reading instanceof NvmlReading.Value<?> value) {
      return value.value();
    }
    Map<String, Object> out = new LinkedHashMap<>();
    String word = refusal(reading);
    out.put("state", word.startsWith("failed") ? "failed" : word);
    out.put("code", reading.result().code());
    out.put("symbol", reading.result().symbol());
    return out;
  }
}
