package org.metrale.gpu.nvml;

/** Power and energy. All power is in milliwatts. */
public final class NvmlPower {
  private final NvmlDevice device;

  NvmlPower(NvmlDevice device) {
    this.device = device;
  }

  /**
   * What the device draws now, or on average over the last second, as its kind measures it.
   *
   * @return milliwatts
   * @wraps {@code nvmlDeviceGetPowerUsage}; nvml.h
   */
  public NvmlReading<Long> usageMilliwatts() {
    return device.number(NvmlQuery.POWER, 0);
  }

  /**
   * What the device has used since the driver was loaded.
   *
   * @return millijoules, <em>unsigned</em>; see {@link NvmlEnergyMeter} for differences
   * @wraps {@code nvmlDeviceGetTotalEnergyConsumption}; nvml.h
   */
  public NvmlReading<Long> energyMillijoules() {
    return device.number(NvmlQuery.ENERGY, 0);
  }

  /**
   * The limit that was set.
   *
   * @return milliwatts
   * @wraps {@code nvmlDeviceGetPowerManagementLimit}; nvml.h
   */
  public NvmlReading<Long> limitMilliwatts() {
    return device.number(NvmlQuery.POWER_LIMIT, 0);
  }

  /**
   * The limit after a reset.
   *
   * @return milliwatts
   * @wraps {@code nvmlDeviceGetPowerManagementDefaultLimit}; nvml.h
   */
  public NvmlReading<Long> defaultLimitMilliwatts() {
    return device.number(NvmlQuery.DEFAULT_POWER_LIMIT, 0);
  }

  /**
   * The limit that holds, the least of all that were set.
   *
   * @return milliwatts
   * @wraps {@code nvmlDeviceGetEnforcedPowerLimit}; nvml.h
   */
  public NvmlReading<Long> enforcedLimitMilliwatts() {
    return device.number(NvmlQuery.ENFORCED_POWER_LIMIT, 0);
  }

  /**
   * What a limit may be set to.
   *
   * @return least and most
   * @wraps {@code nvmlDeviceGetPowerManagementLimitConstraints}; nvml.h
   */
  public NvmlReading<NvmlPowerRange> limitRange() {
    return device
        .query(NvmlQuery.POWER_CONSTRAINTS, 0)
        .reading(answer -> new NvmlPowerRange(answer.value(0), answer.value(1)));
  }

  /**
   * Whether the limit is enforced at all.
   *
   * @return true if it is
   * @wraps {@code nvmlDeviceGetPowerManagementMode}; nvml.h
   */
  public NvmlReading<Boolean> isManaged() {
    return device.flag(NvmlQuery.POWER_MANAGEMENT);
  }

  /**
   * Where the power comes from.
   *
   * @return 0 mains, 1 battery, 2 a source too weak
   * @wraps {@code nvmlDeviceGetPowerSource}; nvml.h
   */
  public NvmlReading<Long> source() {
    return device.number(NvmlQuery.POWER_SOURCE, 0);
  }
}
