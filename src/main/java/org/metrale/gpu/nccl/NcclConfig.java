package org.metrale.gpu.nccl;

import java.time.Duration;
import java.util.EnumMap;
import java.util.Map;
import java.util.Objects;

/**
 * How a communicator is to be: NCCL's own settings, where unset means that NCCL chooses, and the
 * deadlines of this layer.
 *
 * <p>The structure that NCCL gets is cut to what the loaded library's version knows. A setting that
 * is newer than the library is refused, or with {@link Builder#warnOfNewerSettings()} only logged:
 * NCCL itself would drop it without a word.
 *
 * <p>A value; safe for any number of threads.
 */
public final class NcclConfig {
  private static final NcclConfig DEFAULTS = builder().build();

  private final Map<ConfigField, Integer> numbers;
  private final String networkName;
  private final String name;
  private final boolean warnOnly;
  private final Duration initTimeout;
  private final Duration operationTimeout;
  private final Duration closeTimeout;
  private final Duration abortTimeout;
  private final int recordedOperations;
  private final boolean abortOnFailure;
  private final boolean guardedCalls;

  private NcclConfig(Builder from) {
    numbers = new EnumMap<>(from.numbers);
    networkName = from.networkName;
    name = from.name;
    warnOnly = from.warnOnly;
    initTimeout = from.initTimeout;
    operationTimeout = from.operationTimeout;
    closeTimeout = from.closeTimeout;
    abortTimeout = from.abortTimeout;
    recordedOperations = from.recordedOperations;
    abortOnFailure = from.abortOnFailure;
    guardedCalls = from.guardedCalls;
  }

  /**
   * Nothing set: NCCL chooses, and deadlines have their defaults.
   *
   * @return the same object every time
   */
  public static NcclConfig defaults() {
    return DEFAULTS;
  }

  /**
   * Begins with nothing set.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /**
   * How long making a communicator may take.
   *
   * @return ten minutes if not set
   */
  public Duration initTimeout() {
    return initTimeout;
  }

  /**
   * How long an operation may take from its call to its end.
   *
   * @return ten minutes if not set
   */
  public Duration operationTimeout() {
    return operationTimeout;
  }

  /**
   * How long an orderly close may take before the communicator is aborted instead.
   *
   * @return thirty seconds if not set
   */
  public Duration closeTimeout() {
    return closeTimeout;
  }

  /**
   * How long an abort is waited for.
   *
   * @return ten seconds if not set
   */
  public Duration abortTimeout() {
    return abortTimeout;
  }

  /**
   * How many operations the flight recorder keeps.
   *
   * @return 1024 if not set; a power of two
   */
  public int recordedOperations() {
    return recordedOperations;
  }

  /**
   * Whether a communicator that fails is aborted at once.
   *
   * @return true if not set; false leaves it for {@link NcclCommunicator#shrink}
   */
  public boolean abortOnFailure() {
    return abortOnFailure;
  }

  /**
   * Whether every operation is issued on a thread of this layer.
   *
   * @return false if not set
   */
  public boolean guardedCalls() {
    return guardedCalls;
  }

  /**
   * The values for {@code metrale_nccl_config}, after a check against the loaded library's version.
   *
   * @throws IllegalArgumentException if a set field is newer and newer ones are refused
   */
  long[] fields(int version, long networkNameAddress, long nameAddress) {
    return new ConfigValues(numbers, warnOnly).of(version, networkNameAddress, nameAddress);
  }

  String networkName() {
    return networkName;
  }

  String name() {
    return name;
  }

  /** Collects settings; not safe for concurrent use. */
  public static final class Builder {
    private final Map<ConfigField, Integer> numbers = new EnumMap<>(ConfigField.class);
    private String networkName = "";
    private String name = "";
    private boolean warnOnly;
    private Duration initTimeout = Duration.ofMinutes(10);
    private Duration operationTimeout = Duration.ofMinutes(10);
    private Duration closeTimeout = Duration.ofSeconds(30);
    private Duration abortTimeout = Duration.ofSeconds(10);
    private int recordedOperations = 1024;
    private boolean abortOnFailure = true;
    private boolean guardedCalls;

    private Builder() {}

    /**
     * Makes the communicator.
     *
     * @return the configuration
     */
    public NcclConfig build() {
      return new NcclConfig(this);
    }

    /**
     * Whether NCCL's calls may block inside; false if not set. Blocking calls are cheaper on
     * hardware; deadlines hold all the same, since whatever waits for peers runs on a thread of
     * this layer.
     *
     * @param blocking true for NCCL's blocking mode
     * @return this
     */
    public Builder blocking(boolean blocking) {
      return set(ConfigField.BLOCKING, blocking ? 1 : 0);
    }

    /**
     * The size of thread block clusters.
     *
     * @param blocks from 0 to 8
     * @return this
     */
    public Builder cgaClusterSize(int blocks) {
      return set(ConfigField.CGA_CLUSTER_SIZE, blocks);
    }

    /**
     * The least number of thread blocks NCCL uses.
     *
     * @param blocks at least 1
     * @return this
     */
    public Builder minCtas(int blocks) {
      return set(ConfigField.MIN_CTAS, blocks);
    }

    /**
     * The greatest number of thread blocks NCCL uses.
     *
     * @param blocks at least 1
     * @return this
     */
    public Builder maxCtas(int blocks) {
      return set(ConfigField.MAX_CTAS, blocks);
    }

    /**
     * The network module to use.
     *
     * @param module for example {@code IB} or {@code Socket}
     * @return this
     */
    public Builder networkName(String module) {
      networkName = Objects.requireNonNull(module, "module");
      return this;
    }

    /**
     * Whether children made by split share resources with their parent.
     *
     * @param share true to share
     * @return this
     */
    public Builder splitShare(boolean share) {
      return set(ConfigField.SPLIT_SHARE, share ? 1 : 0);
    }

    /**
     * The traffic class of network packets.
     *
     * @param trafficClass from 0 to 255
     * @return this
     */
    public Builder trafficClass(int trafficClass) {
      return set(ConfigField.TRAFFIC_CLASS, trafficClass);
    }

    /**
     * The communicator's name in NCCL's log and in this layer's messages.
     *
     * @param communicatorName any text
     * @return this
     */
    public Builder name(String communicatorName) {
      name = Objects.requireNonNull(communicatorName, "communicatorName");
      return this;
    }

    /**
     * Any other numeric setting, by the name that nccl.h gives it.
     *
     * @param cName for example {@code CTAPolicy} or {@code numRmaCtx}
     * @param value its value
     * @return this
     * @throws IllegalArgumentException if the header has no such number
     */
    public Builder setting(String cName, int value) {
      for (ConfigField field : ConfigField.values()) {
        boolean text = field == ConfigField.NET_NAME || field == ConfigField.COMM_NAME;
        if (field.cName.equals(cName) && !text) {
          return set(field, value);
        }
      }
      throw new IllegalArgumentException("ncclConfig_t has no number called " + cName);
    }

    /**
     * Only logs settings that the loaded library is too old for, instead of refusing them.
     *
     * @return this
     */
    public Builder warnOfNewerSettings() {
      warnOnly = true;
      return this;
    }

    /**
     * How long making a communicator may take.
     *
     * @param timeout more than zero
     * @return this
     */
    public Builder initTimeout(Duration timeout) {
      initTimeout = positive(timeout);
      return this;
    }

    /**
     * How long an operation may take from its call to its end.
     *
     * @param timeout more than zero
     * @return this
     */
    public Builder operationTimeout(Duration timeout) {
      operationTimeout = positive(timeout);
      return this;
    }

    /**
     * How long an orderly close may take.
     *
     * @param timeout more than zero
     * @return this
     */
    public Builder closeTimeout(Duration timeout) {
      closeTimeout = positive(timeout);
      return this;
    }

    /**
     * How long an abort is waited for.
     *
     * @param timeout more than zero
     * @return this
     */
    public Builder abortTimeout(Duration timeout) {
      abortTimeout = positive(timeout);
      return this;
    }

    /**
     * How many operations the flight recorder keeps.
     *
     * @param operations a power of two from 16 to 65536
     * @return this
     * @throws IllegalArgumentException if it is not
     */
    public Builder recordedOperations(int operations) {
      if (operations < 16 || operations > 65_536 || Integer.bitCount(operations) != 1) {
        throw new IllegalArgumentException(operations + " is not a power of two from 16 to 65536");
      }
      recordedOperations = operations;
      return this;
    }

    /**
     * Whether a communicator that fails is aborted at once; true if not set. Without, its
     * operations fail all the same, and it can still be shrunk or aborted by the program.
     *
     * @param abort false to leave a failed communicator as it is
     * @return this
     */
    public Builder abortOnFailure(boolean abort) {
      abortOnFailure = abort;
      return this;
    }

    /**
     * Issues every operation on a thread of this layer, so that the caller gets control back by the
     * operation's deadline even if NCCL or the driver never returns from the call itself. Costs
     * some ten microseconds an operation.
     *
     * @param guarded true to guard; false if not set
     * @return this
     */
    public Builder guardedCalls(boolean guarded) {
      guardedCalls = guarded;
      return this;
    }

    private Builder set(ConfigField field, int value) {
      numbers.put(field, value);
      return this;
    }

    private static Duration positive(Duration timeout) {
      if (timeout.isNegative() || timeout.isZero()) {
        throw new IllegalArgumentException("a timeout of " + timeout + " is no time");
      }
      return timeout;
    }
  }
}
