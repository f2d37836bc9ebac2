package org.metrale.gpu.nccl;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaStream;

/**
 * Settings of single calls, for {@link NcclCommunicator#configured}. What is not set is up to NCCL,
 * or as the communicator's configuration says. All ranks must use the same.
 *
 * <p>NCCL's event for the end of a launch is not offered: it would have to outlive launches of
 * which nobody tells the end.
 *
 * <p>An immutable value.
 */
public final class NcclCallConfig {
  private static final int UNSET = Integer.MIN_VALUE;

  private final int minCtas;
  private final int maxCtas;
  private final int nvlsCtas;
  private final int cgaClusterSize;
  private final String algorithms;
  private final boolean onlyThose;
  private final int ctaPolicy;
  private final long profilerTag;

  /** The algorithms for C, which reads them during the call; null if there are none. */
  private final ByteBuffer text;

  private NcclCallConfig(Builder from) {
    minCtas = from.minCtas;
    maxCtas = from.maxCtas;
    nvlsCtas = from.nvlsCtas;
    cgaClusterSize = from.cgaClusterSize;
    algorithms = from.algorithms;
    onlyThose = from.onlyThose;
    ctaPolicy = from.ctaPolicy;
    profilerTag = from.profilerTag;
    text = algorithms.isEmpty() ? null : zeroEnded(algorithms);
  }

  private static ByteBuffer zeroEnded(String text) {
    byte[] bytes = text.getBytes(UTF_8);
    return ByteBuffer.allocateDirect(bytes.length + 1).put(bytes).put((byte) 0).flip();
  }

  /**
   * Begins with nothing set.
   *
   * @return a builder
   */
  public static Builder builder() {
    return new Builder();
  }

  /** Queues an operation with these settings; behind the communicator's gate. */
  int submit(
      long what,
      long rank,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      int peer,
      CudaStream stream,
      long event) {
    long[] nine = {
      NcclCalls.version(),
      minCtas,
      maxCtas,
      nvlsCtas,
      cgaClusterSize,
      text == null ? 0 : NcclCalls.address(text),
      onlyThose ? 1 : 0,
      ctaPolicy,
      profilerTag
    };
    try {
      return NcclCalls.submitConfigured(
          what,
          rank,
          send == null ? 0 : send.address(),
          recv == null ? 0 : recv.address(),
          count,
          peer,
          stream.slot(),
          stream.generation(),
          event,
          nine);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  @Override
  public String toString() {
    StringBuilder out = new StringBuilder("settings");
    append(out, "minCTAs", minCtas);
    append(out, "maxCTAs", maxCtas);
    append(out, "nvlsCTAs", nvlsCtas);
    append(out, "cgaClusterSize", cgaClusterSize);
    append(out, "CTAPolicy", ctaPolicy);
    if (!algorithms.isEmpty()) {
      out.append(onlyThose ? " algorithms=" : " algorithmsPreferred=").append(algorithms);
    }
    if (profilerTag != 0) {
      out.append(" profilerTag=").append(Long.toUnsignedString(profilerTag));
    }
    return out.toString();
  }

  private static void append(StringBuilder out, String name, int value) {
    if (value != UNSET) {
      out.append(' ').append(name).append('=').append(value);
    }
  }

  /** Collects settings; not safe for concurrent use. */
  public static final class Builder {
    private int minCtas = UNSET;
    private int maxCtas = UNSET;
    private int nvlsCtas = UNSET;
    private int cgaClusterSize = UNSET;
    private String algorithms = "";
    private boolean onlyThose = true;
    private int ctaPolicy = UNSET;
    private long profilerTag;

    private Builder() {}

    /**
     * Makes the settings.
     *
     * @return the settings
     */
    public NcclCallConfig build() {
      return new NcclCallConfig(this);
    }

    /**
     * Bounds how many thread blocks the operation uses.
     *
     * @param least at least so many, from 1
     * @param most at most so many, not fewer
     * @return this
     * @throws IllegalArgumentException if the numbers are not in that order
     */
    public Builder ctas(int least, int most) {
      if (least < 1 || most < least) {
        throw new IllegalArgumentException(
            "not from 1 up: at least " + least + ", at most " + most);
      }
      minCtas = least;
      maxCtas = most;
      return this;
    }

    /**
     * Bounds how many thread blocks the NVLink SHARP part uses.
     *
     * @param most at most so many, from 1
     * @return this
     * @throws IllegalArgumentException if it is less than 1
     */
    public Builder nvlsCtas(int most) {
      if (most < 1) {
        throw new IllegalArgumentException("nvlsCtas " + most + " is less than 1");
      }
      nvlsCtas = most;
      return this;
    }

    /**
     * Sets how many thread blocks form a cluster, the same for all operations of a group.
     *
     * @param blocks from 0 to 8
     * @return this
     * @throws IllegalArgumentException if it is not
     */
    public Builder cgaClusterSize(int blocks) {
      if (blocks < 0 || blocks > 8) {
        throw new IllegalArgumentException("cgaClusterSize " + blocks + " is not from 0 to 8");
      }
      cgaClusterSize = blocks;
      return this;
    }

    /**
     * Which algorithms NCCL may choose from, as its {@code algSelection} says it.
     *
     * @param selection the algorithms; empty for all
     * @param only whether it is an error if none of them can do the operation
     * @return this
     */
    public Builder algorithms(String selection, boolean only) {
      algorithms = Objects.requireNonNull(selection, "selection");
      onlyThose = only;
      return this;
    }

    /**
     * Sets how NCCL chooses the number of thread blocks.
     *
     * @param policy NCCL's bits, {@code NCCL_CTA_POLICY_*}
     * @return this
     */
    public Builder ctaPolicy(int policy) {
      ctaPolicy = policy;
      return this;
    }

    /**
     * Sets a number that NCCL hands to profilers with this call's events.
     *
     * @param tag any number without the highest bit
     * @return this
     * @throws IllegalArgumentException if it is negative
     */
    public Builder profilerTag(long tag) {
      if (tag < 0) {
        throw new IllegalArgumentException("NCCL keeps tags with the highest bit to itself");
      }
      profilerTag = tag;
      return this;
    }
  }
}
