package org.metrale.gpu.nvml;

/**
 * A field that NVML can be asked for by number, of the whole device or of one of its links.
 *
 * <p>The number is that of the newest header. Drivers before 580.82 number 23 fields otherwise (251
 * to 273: the clock reasons came first and power smoothing after them), so the number that is sent
 * is chosen by the driver's version: otherwise a question for power smoothing is answered with
 * throttle times, silently.
 *
 * @param id the field's number in the newest header
 * @param scope the link or lane for fields that have them; {@link #WHOLE} for none
 */
public record NvmlField(int id, int scope) {
  /** The scope of a field that has none, or of all links together. */
  public static final int WHOLE = -1;

  /** The memory's temperature in degrees Celsius. */
  public static final NvmlField MEMORY_TEMPERATURE = new NvmlField(82, 0);

  /** What a link can do, in megabytes a second. */
  public static final NvmlField LINK_SPEED_MEGABYTES_PER_SECOND = new NvmlField(90, 0);

  /** What all links sent, in kibibytes, without the protocol's share. */
  public static final NvmlField LINK_SENT_KIBIBYTES = new NvmlField(138, WHOLE);

  /** What all links received, in kibibytes, without the protocol's share. */
  public static final NvmlField LINK_RECEIVED_KIBIBYTES = new NvmlField(139, WHOLE);

  /** How many C2C links join the device to its CPU. */
  public static final NvmlField CHIP_TO_CHIP_LINKS = new NvmlField(170, 0);

  /** What a C2C link can do, in megabytes a second. */
  public static final NvmlField CHIP_TO_CHIP_MEGABYTES_PER_SECOND = new NvmlField(172, 0);

  /** The average power over the last second, in milliwatts. */
  public static final NvmlField POWER_AVERAGE_MILLIWATTS = new NvmlField(185, 0);

  /** The power now, in milliwatts. */
  public static final NvmlField POWER_INSTANT_MILLIWATTS = new NvmlField(186, 0);

  /** What was sent over PCIe, in bytes; starts again at 0 when it is full. */
  public static final NvmlField PCIE_SENT_BYTES = new NvmlField(197, 0);

  /** What was received over PCIe, in bytes; starts again at 0 when it is full. */
  public static final NvmlField PCIE_RECEIVED_BYTES = new NvmlField(198, 0);

  /** What has to be done to make the device work again: 0 nothing, 1 reset, 2 reboot, 3 drain. */
  public static final NvmlField RECOVERY_ACTION = new NvmlField(230, 0);

  /** Whether power smoothing is on. */
  public static final NvmlField POWER_SMOOTHING_ENABLED = new NvmlField(251, 0);

  /** For how long the driver has slowed the device down for its temperature, in nanoseconds. */
  public static final NvmlField SOFTWARE_THERMAL_NANOSECONDS = new NvmlField(269, 0);

  private static final int FIRST_MOVED = 251;
  private static final int LAST_MOVED = 273;
  private static final int POWER_SMOOTHING_FIELDS = 18;
  private static final int CLOCK_REASON_FIELDS = 5;

  /**
   * Names a field of the whole device.
   *
   * @param id the field's number in the newest header
   * @return the field
   */
  public static NvmlField of(int id) {
    return new NvmlField(id, 0);
  }

  /**
   * The number that a driver knows the field by.
   *
   * @param driverVersion for example {@code 570.133.20}
   * @return the number to send; the field's own from 580.82 on
   */
  public int idFor(String driverVersion) {
    return idFor(NvmlDriverVersion.parse(driverVersion));
  }

  int idFor(NvmlDriverVersion driver) {
    if (id < FIRST_MOVED || id > LAST_MOVED || driver.isAtLeast(580, 82)) {
      return id;
    }
    return id < FIRST_MOVED + POWER_SMOOTHING_FIELDS
        ? id + CLOCK_REASON_FIELDS
        : id - POWER_SMOOTHING_FIELDS;
  }
}
