package org.metrale.gpu.nccl;

import java.util.Objects;

/**
 * How a reduction combines elements: one of NCCL's own ways, or one that a communicator made.
 *
 * <p><b>Ownership:</b> one made by {@link NcclCommunicator#preMultipliedSum} belongs to that
 * communicator, which ends it when it closes.
 */
public final class NcclRedOp {
  /** The sum. */
  public static final NcclRedOp SUM = new NcclRedOp(0, "SUM", null);

  /** The product. */
  public static final NcclRedOp PROD = new NcclRedOp(1, "PROD", null);

  /** The greatest. */
  public static final NcclRedOp MAX = new NcclRedOp(2, "MAX", null);

  /** The least. */
  public static final NcclRedOp MIN = new NcclRedOp(3, "MIN", null);

  /** The sum divided by the number of ranks. */
  public static final NcclRedOp AVG = new NcclRedOp(4, "AVG", null);

  private final int code;
  private final String name;

  /** The only communicator that knows it, or null if all do. */
  private final NcclCommunicator owner;

  private NcclRedOp(int code, String name, NcclCommunicator owner) {
    this.code = code;
    this.name = name;
    this.owner = owner;
  }

  static NcclRedOp made(int code, NcclCommunicator owner) {
    return new NcclRedOp(code, "PRE_MULTIPLIED_SUM", Objects.requireNonNull(owner, "owner"));
  }

  /**
   * NCCL's number for it.
   *
   * @return an {@code ncclRedOp_t}
   */
  public int code() {
    return code;
  }

  void requireUsableBy(NcclCommunicator user) {
    if (owner != null && owner != user) {
      throw new IllegalArgumentException("the operator belongs to " + owner + ", not to " + user);
    }
  }

  @Override
  public String toString() {
    return name;
  }
}
