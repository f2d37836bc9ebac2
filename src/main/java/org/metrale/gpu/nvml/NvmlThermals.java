package org.metrale.gpu.nvml;

import java.util.List;

/** Temperatures in degrees Celsius, and fans. */
public final class NvmlThermals {
  private final NvmlDevice device;

  NvmlThermals(NvmlDevice device) {
    this.device = device;
  }

  /**
   * The temperature of the GPU.
   *
   * @return degrees Celsius
   * @wraps {@code nvmlDeviceGetTemperatureV}, else {@code nvmlDeviceGetTemperature}; nvml.h
   */
  public NvmlReading<Long> celsius() {
    return device.number(NvmlQuery.TEMPERATURE, 0);
  }

  /**
   * The temperature of the memory.
   *
   * @return degrees Celsius
   * @wraps {@code nvmlDeviceGetFieldValues}; nvml.h
   */
  public NvmlReading<Long> memoryCelsius() {
    return device.fields(List.of(NvmlField.MEMORY_TEMPERATURE)).get(0).reading();
  }

  /**
   * How far the GPU is from being slowed down.
   *
   * @return degrees left; negative when it is past that
   * @wraps {@code nvmlDeviceGetMarginTemperature}; nvml.h
   */
  public NvmlReading<Long> marginCelsius() {
    return device.number(NvmlQuery.TEMPERATURE_MARGIN, 0);
  }

  /**
   * A temperature at which something happens.
   *
   * @param threshold what happens
   * @return degrees Celsius
   * @wraps {@code nvmlDeviceGetTemperatureThreshold}; nvml.h
   */
  public NvmlReading<Long> thresholdCelsius(NvmlThreshold threshold) {
    return device.number(NvmlQuery.THRESHOLD, threshold.number());
  }

  /**
   * How many fans the device has.
   *
   * @return 0 for one that is cooled by its machine
   * @wraps {@code nvmlDeviceGetNumFans}; nvml.h
   */
  public NvmlReading<Long> fanCount() {
    return device.number(NvmlQuery.FAN_COUNT, 0);
  }

  /**
   * How fast a fan is meant to turn.
   *
   * @param fanIndex from 0 to {@link #fanCount()} - 1
   * @return percent of its most
   * @wraps {@code nvmlDeviceGetFanSpeed_v2}, else for fan 0 {@code nvmlDeviceGetFanSpeed}; nvml.h
   */
  public NvmlReading<Long> fanPercent(int fanIndex) {
    return device.number(NvmlQuery.FAN_SPEED, fanIndex);
  }

  /**
   * How fast a fan was told to turn.
   *
   * @param fanIndex from 0 to {@link #fanCount()} - 1
   * @return percent of its most
   * @wraps {@code nvmlDeviceGetTargetFanSpeed}; nvml.h
   */
  public NvmlReading<Long> fanTargetPercent(int fanIndex) {
    return device.number(NvmlQuery.FAN_TARGET, fanIndex);
  }

  /**
   * How fast a fan turns.
   *
   * @param fanIndex from 0 to {@link #fanCount()} - 1
   * @return revolutions a minute
   * @wraps {@code nvmlDeviceGetFanSpeedRPM}; nvml.h
   */
  public NvmlReading<Long> fanRevolutionsPerMinute(int fanIndex) {
    return device.number(NvmlQuery.FAN_RPM, fanIndex);
  }

  /**
   * What a fan may be set to.
   *
   * @return least and most percent
   * @wraps {@code nvmlDeviceGetMinMaxFanSpeed}; nvml.h
   */
  public NvmlReading<NvmlFanRange> fanRange() {
    return device
        .query(NvmlQuery.FAN_LIMITS, 0)
        .reading(answer -> new NvmlFanRange(answer.value(0), answer.value(1)));
  }
}
