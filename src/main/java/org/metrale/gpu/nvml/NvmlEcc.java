package org.metrale.gpu.nvml;

/** Memory errors, and what was done about them. */
public final class NvmlEcc {
  private final NvmlDevice device;

  NvmlEcc(NvmlDevice device) {
    this.device = device;
  }

  /**
   * Whether errors are corrected now.
   *
   * @return true if they are
   * @wraps {@code nvmlDeviceGetEccMode}; nvml.h
   */
  public NvmlReading<Boolean> isEnabled() {
    return device.flag(NvmlQuery.ECC_MODE);
  }

  /**
   * Whether errors are corrected after the next reset.
   *
   * @return true if they will be
   * @wraps {@code nvmlDeviceGetEccMode}; nvml.h
   */
  public NvmlReading<Boolean> isEnabledAfterReset() {
    return device.query(NvmlQuery.ECC_MODE, 0).reading(answer -> answer.value(1) != 0);
  }

  /**
   * Whether errors are corrected unless set otherwise.
   *
   * @return true if they are
   * @wraps {@code nvmlDeviceGetDefaultEccMode}; nvml.h
   */
  public NvmlReading<Boolean> isEnabledByDefault() {
    return device.flag(NvmlQuery.DEFAULT_ECC_MODE);
  }

  /**
   * Errors in all memories together.
   *
   * @param error which errors
   * @param counter since when
   * @return how many
   * @wraps {@code nvmlDeviceGetTotalEccErrors}; nvml.h
   */
  public NvmlReading<Long> errors(NvmlEccError error, NvmlEccCounter counter) {
    return device.number(NvmlQuery.ECC_ERRORS, error.number() | counter.number() << 8);
  }

  /**
   * Errors in one kind of memory.
   *
   * @param error which errors
   * @param counter since when
   * @param location where
   * @return how many
   * @wraps {@code nvmlDeviceGetMemoryErrorCounter}; nvml.h
   */
  public NvmlReading<Long> errors(
      NvmlEccError error, NvmlEccCounter counter, NvmlMemoryLocation location) {
    return device.number(
        NvmlQuery.MEMORY_ERRORS, error.number() | counter.number() << 8 | location.number() << 16);
  }

  /**
   * Rows of memory that others stand in for.
   *
   * @return how many and why
   * @wraps {@code nvmlDeviceGetRemappedRows}; nvml.h
   */
  public NvmlReading<NvmlRemappedRows> remappedRows() {
    return device
        .query(NvmlQuery.REMAPPED_ROWS, 0)
        .reading(
            answer ->
                new NvmlRemappedRows(
                    answer.value(0), answer.value(1), answer.value(2) != 0, answer.value(3) != 0));
  }

  /**
   * How many spare rows the banks of memory have left.
   *
   * @return banks by what they have left
   * @wraps {@code nvmlDeviceGetRowRemapperHistogram}; nvml.h
   */
  public NvmlReading<NvmlSpareRows> spareRows() {
    return device
        .query(NvmlQuery.REMAPPER_HISTOGRAM, 0)
        .reading(
            answer ->
                new NvmlSpareRows(
                    answer.value(0),
                    answer.value(1),
                    answer.value(2),
                    answer.value(3),
                    answer.value(4)));
  }

  /**
   * What will be repaired at the next reset.
   *
   * @return pending repairs
   * @wraps {@code nvmlDeviceGetRepairStatus}; nvml.h
   */
  public NvmlReading<NvmlRepair> repair() {
    return device
        .query(NvmlQuery.REPAIR_STATUS, 0)
        .reading(answer -> new NvmlRepair(answer.value(0) != 0, answer.value(1) != 0));
  }
}
