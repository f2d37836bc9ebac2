package org.metrale.gpu.nccl;

/** What an operation does. */
public enum NcclOperationKind {
  /** Combines buffers of all ranks into all. */
  ALL_REDUCE("ncclAllReduce", true),
  /** Copies one rank's buffer to all. */
  BROADCAST("ncclBroadcast", true),
  /** Combines buffers of all ranks into one rank's. */
  REDUCE("ncclReduce", true),
  /** Joins buffers of all ranks in all. */
  ALL_GATHER("ncclAllGather", true),
  /** Combines buffers of all ranks and leaves each a part. */
  REDUCE_SCATTER("ncclReduceScatter", true),
  /** Exchanges parts between all ranks. */
  ALL_TO_ALL("ncclAlltoAll", true),
  /** Joins buffers of all ranks in one. */
  GATHER("ncclGather", true),
  /** Hands parts of one rank's buffer to all. */
  SCATTER("ncclScatter", true),
  /** Sends to one rank. */
  SEND("ncclSend", false),
  /** Receives from one rank. */
  RECEIVE("ncclRecv", false),
  /** Writes into another rank's window and signals it. */
  PUT_SIGNAL("ncclPutSignal", false),
  /** Signals another rank. */
  SIGNAL("ncclSignal", false),
  /** Waits for signals of another rank. */
  WAIT_SIGNAL("ncclWaitSignal", false);

  private static final NcclOperationKind[] ALL = values();

  private final String call;
  private final String configuredCall;
  private final boolean collective;

  NcclOperationKind(String call, boolean collective) {
    this.call = call;
    this.configuredCall = call + "Config";
    this.collective = collective;
  }

  /**
   * The C function behind it.
   *
   * @return its name
   */
  public String call() {
    return call;
  }

  /** The C function that takes settings of its own; only collectives have one. */
  String configuredCall() {
    return configuredCall;
  }

  /**
   * Whether all ranks must issue it, with the same arguments and in the same order.
   *
   * @return false for what two ranks do with each other
   */
  public boolean isCollective() {
    return collective;
  }

  /** The number in the shims' enumeration, whose order this one has. */
  @SuppressWarnings("EnumOrdinal") // a test compares the two orders
  int code() {
    return ordinal();
  }

  static NcclOperationKind of(int code) {
    return ALL[code];
  }
}
