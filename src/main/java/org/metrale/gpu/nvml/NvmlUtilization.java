package org.metrale.gpu.nvml;

import java.time.Duration;
import java.time.temporal.ChronoUnit;

/**
 * How busy the engines were over the last period of the driver's choice.
 *
 * <p>A GPU in MIG mode does not tell; GPM does, where the part has it.
 */
public final class NvmlUtilization {
  private final NvmlDevice device;

  NvmlUtilization(NvmlDevice device) {
    this.device = device;
  }

  /**
   * How much of the time a kernel ran, and memory was read or written.
   *
   * @return percent of the time
   * @wraps {@code nvmlDeviceGetUtilizationRates}; nvml.h
   */
  public NvmlReading<NvmlRates> rates() {
    return device
        .query(NvmlQuery.UTILIZATION, 0)
        .reading(answer -> new NvmlRates(answer.value(0), answer.value(1)));
  }

  /**
   * How busy the video encoders were.
   *
   * @return percent, and the period that it is about
   * @wraps {@code nvmlDeviceGetEncoderUtilization}; nvml.h
   */
  public NvmlReading<NvmlEngine> encoder() {
    return device
        .query(NvmlQuery.ENCODER, 0)
        .reading(
            answer ->
                new NvmlEngine(answer.value(0), Duration.of(answer.value(1), ChronoUnit.MICROS)));
  }

  /**
   * How busy the video decoders were.
   *
   * @return percent, and the period that it is about
   * @wraps {@code nvmlDeviceGetDecoderUtilization}; nvml.h
   */
  public NvmlReading<NvmlEngine> decoder() {
    return device
        .query(NvmlQuery.DECODER, 0)
        .reading(
            answer ->
                new NvmlEngine(answer.value(0), Duration.of(answer.value(1), ChronoUnit.MICROS)));
  }

  /**
   * How busy the JPEG decoders were.
   *
   * @return percent, and the period that it is about
   * @wraps {@code nvmlDeviceGetJpgUtilization}; nvml.h
   */
  public NvmlReading<NvmlEngine> jpeg() {
    return device
        .query(NvmlQuery.JPEG, 0)
        .reading(
            answer ->
                new NvmlEngine(answer.value(0), Duration.of(answer.value(1), ChronoUnit.MICROS)));
  }

  /**
   * How busy the optical flow accelerators were.
   *
   * @return percent, and the period that it is about
   * @wraps {@code nvmlDeviceGetOfaUtilization}; nvml.h
   */
  public NvmlReading<NvmlEngine> opticalFlow() {
    return device
        .query(NvmlQuery.OPTICAL_FLOW, 0)
        .reading(
            answer ->
                new NvmlEngine(answer.value(0), Duration.of(answer.value(1), ChronoUnit.MICROS)));
  }

  /**
   * How much of the encoders is left for a codec.
   *
   * @param codec which codec
   * @return percent
   * @wraps {@code nvmlDeviceGetEncoderCapacity}; nvml.h
   */
  public NvmlReading<Long> encoderCapacityPercent(NvmlCodec codec) {
    return device.number(NvmlQuery.ENCODER_CAPACITY, codec.number());
  }

  /**
   * What the encoders do.
   *
   * @return sessions, frames and latency
   * @wraps {@code nvmlDeviceGetEncoderStats}; nvml.h
   */
  public NvmlReading<NvmlEncoderSessions> encoderSessions() {
    return device
        .query(NvmlQuery.ENCODER_STATISTICS, 0)
        .reading(
            answer -> new NvmlEncoderSessions(answer.value(0), answer.value(1), answer.value(2)));
  }
}
