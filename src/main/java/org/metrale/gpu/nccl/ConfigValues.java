package org.metrale.gpu.nccl;

import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.metrale.gpu.NativeLibrary;

/** A configuration as the loaded library's version takes it. */
final class ConfigValues {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.nccl");
  private static final int UNSET = Integer.MIN_VALUE;

  private final Map<ConfigField, Integer> numbers;
  private final boolean warnOnly;

  ConfigValues(Map<ConfigField, Integer> numbers, boolean warnOnly) {
    this.numbers = numbers;
    this.warnOnly = warnOnly;
  }

  /**
   * The values for {@code metrale_nccl_config}, after a check against the loaded library's version.
   *
   * @throws IllegalArgumentException if a set field is newer and newer ones are refused
   */
  long[] of(int version, long networkNameAddress, long nameAddress) {
    List<String> newer = new ArrayList<>();
    long[] out = new long[ConfigField.values().length + 2];
    out[0] = ConfigField.structBytes(version);
    out[1] = version;
    for (ConfigField field : ConfigField.values()) {
      long value = numbers.getOrDefault(field, UNSET);
      boolean set = value != UNSET;
      if (field == ConfigField.NET_NAME) {
        value = networkNameAddress;
        set = value != 0;
      } else if (field == ConfigField.COMM_NAME) {
        value = nameAddress;
        set = value != 0;
      }
      if (set && version < field.firstVersion) {
        newer.add(field.cName + " (from " + text(field.firstVersion) + " on)");
        value = field == ConfigField.NET_NAME || field == ConfigField.COMM_NAME ? 0 : UNSET;
      }
      out[field.place()] = value;
    }
    if (numbers.getOrDefault(ConfigField.BLOCKING, UNSET) == UNSET) {
      // Without this neither making a communicator nor an operation could be given up.
      out[ConfigField.BLOCKING.place()] = 0;
    }
    if (!newer.isEmpty()) {
      tellNewer(version, newer);
    }
    return out;
  }

  private void tellNewer(int version, List<String> newer) {
    String message =
        "NCCL "
            + text(version)
            + NativeLibrary.NCCL.file().map(file -> " (" + file + ")").orElse("")
            + " is too old for these settings: "
            + String.join(", ", newer);
    if (!warnOnly) {
      throw new IllegalArgumentException(message);
    }
    LOG.log(Level.WARNING, message + "; they are left out");
  }

  private static String text(int version) {
    return version / 10_000 + "." + version / 100 % 100 + "." + version % 100;
  }
}
