package org.metrale.gpu.env;

import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * The variables that one rail of one tier is configured by.
 *
 * @param onlyIf the switch that must be 1 for the rail to exist, if there is one
 * @param deviceNames the chain for the device's name, most specific first
 * @param emptyDevice what an exported but empty device variable means
 * @param defaultDevice the device if the chain gives none
 * @param gidNames the chain for the GID's index, most specific first
 */
public record RailChain(
    Optional<String> onlyIf,
    List<String> deviceNames,
    EmptyDevice emptyDevice,
    String defaultDevice,
    List<String> gidNames) {
  /** The GID index if the chain gives none. */
  public static final long DEFAULT_GID_INDEX = 3;

  /** What an exported but empty device variable means to a lenient look-up. */
  public enum EmptyDevice {
    /** It ends the chain: the device is named "". */
    COUNTS,
    /** It is passed over. */
    SKIPPED
  }

  /**
   * Copies the chains and refuses nulls.
   *
   * @param onlyIf the switch that must be 1 for the rail to exist, if there is one
   * @param deviceNames the chain for the device's name, most specific first
   * @param emptyDevice what an exported but empty device variable means
   * @param defaultDevice the device if the chain gives none
   * @param gidNames the chain for the GID's index, most specific first
   */
  public RailChain {
    Objects.requireNonNull(onlyIf, "onlyIf");
    Objects.requireNonNull(emptyDevice, "emptyDevice");
    Objects.requireNonNull(defaultDevice, "defaultDevice");
    deviceNames = List.copyOf(deviceNames);
    gidNames = List.copyOf(gidNames);
  }

  /**
   * The rail that an environment describes, as deployed programs understand it: a mistyped GID
   * index is passed over.
   *
   * @param environment where to look
   * @return the rail, or nothing if its switch is not 1
   */
  public Optional<RailSetting> lenient(Environment environment) {
    if (onlyIf.isPresent() && !environment.isOne(onlyIf.get())) {
      return Optional.empty();
    }
    String device =
        emptyDevice == EmptyDevice.COUNTS
            ? environment.firstSet(deviceNames, defaultDevice)
            : environment.firstNonempty(deviceNames, defaultDevice);
    return Optional.of(
        new RailSetting(device, environment.firstSetU32(gidNames, DEFAULT_GID_INDEX)));
  }

  /**
   * The name of the device, or which variable is empty.
   *
   * @param environment where to look
   * @return the setting
   */
  public Setting<String> strictDevice(Environment environment) {
    return environment.strictText(deviceNames, defaultDevice);
  }

  /**
   * The index of the GID, or which variable is mistyped.
   *
   * @param environment where to look
   * @return the setting, 0 to 255
   */
  public Setting<Long> strictGidIndex(Environment environment) {
    return environment.strictNumber(gidNames, DEFAULT_GID_INDEX, NumberRange.GID_INDEX);
  }
}
