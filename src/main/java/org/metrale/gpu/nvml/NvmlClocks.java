package org.metrale.gpu.nvml;

import java.time.Duration;
import java.util.List;

/** Clocks in megahertz, the performance state, and what holds the clocks down. */
public final class NvmlClocks {
  private final NvmlDevice device;

  NvmlClocks(NvmlDevice device) {
    this.device = device;
  }

  /**
   * A clock now.
   *
   * @param clock which clock
   * @return megahertz
   * @wraps {@code nvmlDeviceGetClockInfo}; nvml.h
   */
  public NvmlReading<Long> megahertz(NvmlClock clock) {
    return device.number(NvmlQuery.CLOCK, clock.number());
  }

  /**
   * The most that a clock reaches.
   *
   * @param clock which clock
   * @return megahertz
   * @wraps {@code nvmlDeviceGetMaxClockInfo}; nvml.h
   */
  public NvmlReading<Long> maxMegahertz(NvmlClock clock) {
    return device.number(NvmlQuery.MAX_CLOCK, clock.number());
  }

  /**
   * The clock that applications run at.
   *
   * @param clock which clock
   * @return megahertz
   * @wraps {@code nvmlDeviceGetApplicationsClock}; nvml.h
   */
  public NvmlReading<Long> applicationMegahertz(NvmlClock clock) {
    return device.number(NvmlQuery.APPLICATION_CLOCK, clock.number());
  }

  /**
   * The clock that applications run at unless set otherwise.
   *
   * @param clock which clock
   * @return megahertz
   * @wraps {@code nvmlDeviceGetDefaultApplicationsClock}; nvml.h
   */
  public NvmlReading<Long> defaultApplicationMegahertz(NvmlClock clock) {
    return device.number(NvmlQuery.DEFAULT_CLOCK, clock.number());
  }

  /**
   * The most that a clock may be set to.
   *
   * @param clock which clock
   * @return megahertz
   * @wraps {@code nvmlDeviceGetMaxCustomerBoostClock}; nvml.h
   */
  public NvmlReading<Long> boostMegahertz(NvmlClock clock) {
    return device.number(NvmlQuery.BOOST_CLOCK, clock.number());
  }

  /**
   * The memory clocks that can be set.
   *
   * @return megahertz, the fastest first
   * @wraps {@code nvmlDeviceGetSupportedMemoryClocks}; nvml.h
   */
  public NvmlReading<List<Long>> supportedMemoryMegahertz() {
    return list(-1);
  }

  /**
   * The graphics clocks that can be set with a memory clock.
   *
   * @param memoryMegahertz one of {@link #supportedMemoryMegahertz()}
   * @return megahertz, the fastest first
   * @wraps {@code nvmlDeviceGetSupportedGraphicsClocks}; nvml.h
   */
  public NvmlReading<List<Long>> supportedGraphicsMegahertz(int memoryMegahertz) {
    return list(Math.max(memoryMegahertz, 0));
  }

  /**
   * How fast the device is set to run.
   *
   * @return 0, the fastest, to 15; 32 where it is not known
   * @wraps {@code nvmlDeviceGetPerformanceState}; nvml.h
   */
  public NvmlReading<Long> performanceState() {
    return device.number(NvmlQuery.PERFORMANCE_STATE, 0);
  }

  /**
   * Why the clocks are what they are.
   *
   * @return the reasons that hold now
   * @wraps {@code nvmlDeviceGetCurrentClocksEventReasons}, else {@code
   *     nvmlDeviceGetCurrentClocksThrottleReasons}; nvml.h
   */
  public NvmlReading<NvmlClockReasons> eventReasons() {
    return device
        .query(NvmlQuery.EVENT_REASONS, 0)
        .reading(answer -> new NvmlClockReasons(answer.value(0)));
  }

  /**
   * The reasons that this device can give.
   *
   * @return the reasons
   * @wraps {@code nvmlDeviceGetSupportedClocksEventReasons}, else {@code
   *     nvmlDeviceGetSupportedClocksThrottleReasons}; nvml.h
   */
  public NvmlReading<NvmlClockReasons> supportedEventReasons() {
    return device
        .query(NvmlQuery.SUPPORTED_REASONS, 0)
        .reading(answer -> new NvmlClockReasons(answer.value(0)));
  }

  /**
   * For how long clocks were held back since the driver was loaded.
   *
   * @param policy by what
   * @return the time
   * @wraps {@code nvmlDeviceGetViolationStatus}; nvml.h
   */
  public NvmlReading<Duration> heldBack(NvmlHoldBack policy) {
    return device
        .query(NvmlQuery.VIOLATION, policy.number())
        .reading(answer -> Duration.ofNanos(answer.value(0)));
  }

  private NvmlReading<List<Long>> list(int memoryMegahertz) {
    return NvmlLists.clocksMegahertz(device, memoryMegahertz);
  }
}
