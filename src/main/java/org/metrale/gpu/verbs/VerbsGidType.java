package org.metrale.gpu.verbs;

/**
 * What kind of address an entry of the GID table is, known to this build or not.
 *
 * @param code the kernel's number
 */
public record VerbsGidType(int code) {
  /** An InfiniBand address. */
  public static final VerbsGidType INFINIBAND = new VerbsGidType(0);

  /** RoCE version 1: Ethernet frames, not routable. */
  public static final VerbsGidType ROCE_V1 = new VerbsGidType(1);

  /** RoCE version 2: UDP over IP. */
  public static final VerbsGidType ROCE_V2 = new VerbsGidType(2);

  @Override
  public String toString() {
    return switch (code) {
      case 0 -> "InfiniBand";
      case 1 -> "RoCE v1";
      case 2 -> "RoCE v2";
      case 255 -> "unknown";
      default -> "type " + code;
    };
  }
}
