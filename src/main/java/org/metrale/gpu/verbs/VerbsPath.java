package org.metrale.gpu.verbs;

/**
 * How a queue pair reaches its peer, and how patient it is.
 *
 * <p>Times are in the codes of the InfiniBand specification.
 *
 * @param portNumber the local port, from 1
 * @param gidIndex the entry of the GID table, or {@link #CHOOSE_GID}
 * @param pkeyIndex the entry of the partition key table
 * @param serviceLevel 0 to 15
 * @param trafficClass 0 to 255: with RoCE the byte that carries DSCP and ECN
 * @param hopLimit 1 to 255; with RoCE Linux takes that of its route instead
 * @param mtuCapBytes the largest packet's payload wanted, 256 to 4096, a power of two; the port's
 *     active MTU if that is smaller. Both ends must come to the same number
 * @param timeoutCode how long to wait for the peer: 4.096 us times 2 to this, 0 for ever, up to 31
 * @param retryCount how often to send again, 0 to 7. Soft-RoCE of Linux 6.1 takes 7 for no limit
 * @param rnrRetryCount how often to try again while the peer has no receive request; 7 has no
 *     limit: what is sent completes only when the peer posts one, or this side gives up
 * @param minRnrTimer how long a sender is told to wait while this side is not ready, 0 to 31
 */
public record VerbsPath(
    int portNumber,
    int gidIndex,
    int pkeyIndex,
    int serviceLevel,
    int trafficClass,
    int hopLimit,
    int mtuCapBytes,
    int timeoutCode,
    int retryCount,
    int rnrRetryCount,
    int minRnrTimer) {
  /** The table's best entry, see {@link VerbsGidChoice}. */
  public static final int CHOOSE_GID = -1;

  /** Port 1, the best address, and about half a second of patience. */
  public static final VerbsPath DEFAULT =
      new VerbsPath(1, CHOOSE_GID, 0, 0, 0, 64, 4096, 14, 6, 7, 12);

  /**
   * Checks every number.
   *
   * @param portNumber the local port, from 1
   * @param gidIndex the entry of the GID table, or {@link #CHOOSE_GID}
   * @param pkeyIndex the entry of the partition key table
   * @param serviceLevel 0 to 15
   * @param trafficClass 0 to 255
   * @param hopLimit 1 to 255
   * @param mtuCapBytes 256 to 4096, a power of two
   * @param timeoutCode 0 to 31
   * @param retryCount 0 to 7
   * @param rnrRetryCount 0 to 7
   * @param minRnrTimer 0 to 31
   * @throws IllegalArgumentException if one is out of its range
   */
  public VerbsPath {
    require("portNumber", portNumber, 1, 255);
    require("gidIndex", gidIndex, CHOOSE_GID, 255);
    require("pkeyIndex", pkeyIndex, 0, 0xFFFF);
    require("serviceLevel", serviceLevel, 0, 15);
    require("trafficClass", trafficClass, 0, 255);
    require("hopLimit", hopLimit, 1, 255);
    require("mtuCapBytes", mtuCapBytes, 256, 4096);
    require("bits of mtuCapBytes", Integer.bitCount(mtuCapBytes), 1, 1);
    require("timeoutCode", timeoutCode, 0, 31);
    require("retryCount", retryCount, 0, 7);
    require("rnrRetryCount", rnrRetryCount, 0, 7);
    require("minRnrTimer", minRnrTimer, 0, 31);
  }

  /**
   * The same from another port and address.
   *
   * @param port the local port, from 1
   * @param gid the entry of its GID table, or {@link #CHOOSE_GID}
   * @return the path
   */
  public VerbsPath from(int port, int gid) {
    return new VerbsPath(
        port,
        gid,
        pkeyIndex,
        serviceLevel,
        trafficClass,
        hopLimit,
        mtuCapBytes,
        timeoutCode,
        retryCount,
        rnrRetryCount,
        minRnrTimer);
  }

  /**
   * The same with other service.
   *
   * @param level the service level, 0 to 15
   * @param traffic the traffic class, 0 to 255
   * @return the path
   */
  public VerbsPath withService(int level, int traffic) {
    return new VerbsPath(
        portNumber,
        gidIndex,
        pkeyIndex,
        level,
        traffic,
        hopLimit,
        mtuCapBytes,
        timeoutCode,
        retryCount,
        rnrRetryCount,
        minRnrTimer);
  }

  /**
   * The same with other patience.
   *
   * @param timeout the code of the wait for the peer, 0 to 31
   * @param retries how often to send again, 0 to 7
   * @return the path
   */
  public VerbsPath withPatience(int timeout, int retries) {
    return new VerbsPath(
        portNumber,
        gidIndex,
        pkeyIndex,
        serviceLevel,
        trafficClass,
        hopLimit,
        mtuCapBytes,
        timeout,
        retries,
        rnrRetryCount,
        minRnrTimer);
  }

  /**
   * The same with other patience for a peer that has no receive request.
   *
   * @param retries how often to try again, 0 to 7; 7 has no limit
   * @param timerCode how long the peer is told to wait while this side has none: 1 is 0.01 ms, 12
   *     is 0.64 ms, 31 is 491.52 ms, and 0 is the longest, 655.36 ms
   * @return the path
   */
  public VerbsPath withReceiverPatience(int retries, int timerCode) {
    return new VerbsPath(
        portNumber,
        gidIndex,
        pkeyIndex,
        serviceLevel,
        trafficClass,
        hopLimit,
        mtuCapBytes,
        timeoutCode,
        retryCount,
        retries,
        timerCode);
  }

  /**
   * The same with smaller packets.
   *
   * @param capBytes 256 to 4096, a power of two
   * @return the path
   */
  public VerbsPath withMtuCap(int capBytes) {
    return new VerbsPath(
        portNumber,
        gidIndex,
        pkeyIndex,
        serviceLevel,
        trafficClass,
        hopLimit,
        capBytes,
        timeoutCode,
        retryCount,
        rnrRetryCount,
        minRnrTimer);
  }

  private static void require(String what, int value, int least, int greatest) {
    if (value < least || value > greatest) {
      throw new IllegalArgumentException(
          what + ": wanted " + least + " to " + greatest + ", got " + value);
    }
  }
}
