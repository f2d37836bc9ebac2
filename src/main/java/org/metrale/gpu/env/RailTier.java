package org.metrale.gpu.env;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.metrale.gpu.env.RailChain.EmptyDevice;

/**
 * The services that use rails, each with the variables that its rails are configured by.
 *
 * <p>The first rail of the expert, key-value and snapshot tiers is configured by variables named
 * after the expert tier; that is how deployed programs are set up.
 */
public enum RailTier {
  /** Experts of a mixture model. */
  EXPERT(
      rail0(EmptyDevice.COUNTS, Names.EXPERT_DEV, Names.EXPERT_GID),
      rail1("METRALE_EXPERT_DUAL_RAIL", EmptyDevice.COUNTS, Names.EXPERT_DEV2, Names.EXPERT_GID2)),

  /** Key-value blocks. */
  KV(
      rail0(EmptyDevice.COUNTS, Names.EXPERT_DEV, Names.EXPERT_GID),
      rail1(Names.KV_DUAL, EmptyDevice.COUNTS, Names.KV_DEV2, Names.KV_GID2)),

  /** State snapshots. */
  SSM(
      rail0(EmptyDevice.COUNTS, Names.EXPERT_DEV, Names.EXPERT_GID),
      rail1(Names.KV_DUAL, EmptyDevice.COUNTS, Names.KV_DEV2, Names.KV_GID2)),

  /** Model weights. */
  WEIGHT(
      rail0(
          EmptyDevice.SKIPPED,
          List.of("METRALE_WEIGHT_RDMA_DEV", "METRALE_EXPERT_RDMA_DEV"),
          List.of("METRALE_WEIGHT_RDMA_GID", "METRALE_EXPERT_RDMA_GID")),
      rail1(
          "METRALE_WEIGHT_DUAL_RAIL",
          EmptyDevice.SKIPPED,
          List.of("METRALE_WEIGHT_RAIL2_DEV", "METRALE_EXPERT_RAIL2_DEV"),
          List.of("METRALE_WEIGHT_RAIL2_GID", "METRALE_EXPERT_RAIL2_GID"))),

  /** Adapters. */
  LORA(
      rail0(
          EmptyDevice.COUNTS,
          List.of("METRALE_LORA_RDMA_DEV", "METRALE_WEIGHT_RDMA_DEV", "METRALE_EXPERT_RDMA_DEV"),
          List.of("METRALE_LORA_RDMA_GID")));

  /** The pipeline depth if no variable gives one. */
  public static final long DEFAULT_PIPELINE_DEPTH = 16;

  /** The pipeline depths that are allowed. */
  public static final NumberRange PIPELINE_DEPTHS = new NumberRange(1, 128);

  @SuppressWarnings("ImmutableEnumChecker") // An unmodifiable list of records.
  private final List<RailChain> chains;

  RailTier(RailChain... chains) {
    this.chains = List.of(chains);
  }

  /**
   * The variables of each rail.
   *
   * @return one chain per rail, the first rail first
   */
  public List<RailChain> chains() {
    return chains;
  }

  /**
   * The rails that an environment describes, as deployed programs understand it.
   *
   * @param environment where to look
   * @return one or more rails, the first rail first
   */
  public List<RailSetting> lenient(Environment environment) {
    List<RailSetting> rails = new ArrayList<>();
    for (RailChain chain : chains) {
      chain.lenient(environment).ifPresent(rails::add);
    }
    return List.copyOf(rails);
  }

  /**
   * The rails that an environment describes, if every variable that decides one is well-formed.
   *
   * @param environment where to look
   * @return one or more rails, the first rail first
   * @throws IllegalArgumentException if variables are empty or mistyped; the message has a line for
   *     each
   */
  public List<RailSetting> strict(Environment environment) {
    List<RailSetting> rails = new ArrayList<>();
    List<String> complaints = new ArrayList<>();
    for (RailChain chain : chains) {
      Setting<Boolean> exists =
          chain.onlyIf().map(environment::strictSwitch).orElse(new Setting.Defaulted<>(true));
      if (note(exists, complaints) && exists.orThrow()) {
        Setting<String> device = chain.strictDevice(environment);
        Setting<Long> gidIndex = chain.strictGidIndex(environment);
        boolean deviceFits = note(device, complaints);
        if (note(gidIndex, complaints) && deviceFits) {
          rails.add(new RailSetting(device.orThrow(), gidIndex.orThrow()));
        }
      }
    }
    if (!complaints.isEmpty()) {
      throw new IllegalArgumentException(
          "rails of the " + name() + " tier:\n  " + String.join("\n  ", complaints));
    }
    return List.copyOf(rails);
  }

  /**
   * The variable that says where the tier's server is, as {@code host:port}.
   *
   * @return the variable's name, or nothing for tiers that are told otherwise
   */
  public Optional<String> peerName() {
    return switch (this) {
      case KV -> Optional.of("METRALE_KV_PEER");
      case SSM -> Optional.of("METRALE_SNAP_PEER");
      case WEIGHT -> Optional.of("METRALE_WEIGHT_PEER");
      case LORA -> Optional.of("METRALE_LORA_PEER");
      case EXPERT -> Optional.empty();
    };
  }

  /**
   * The variable that says how many transfers may be in flight on a rail.
   *
   * @return the variable's name, or nothing for tiers that keep one in flight
   */
  public Optional<String> pipelineDepthName() {
    return switch (this) {
      case KV -> Optional.of("METRALE_KV_PIPELINE_DEPTH");
      case SSM -> Optional.of("METRALE_SSM_PIPELINE_DEPTH");
      case EXPERT, WEIGHT, LORA -> Optional.empty();
    };
  }

  /**
   * How many transfers may be in flight on a rail.
   *
   * @param environment where to look
   * @return 1 to 128, the default if no variable says otherwise, or nothing for tiers that keep one
   *     in flight
   * @throws IllegalArgumentException if the variable is mistyped or out of range
   */
  public OptionalLong strictPipelineDepth(Environment environment) {
    if (pipelineDepthName().isEmpty()) {
      return OptionalLong.empty();
    }
    List<String> names = List.of(pipelineDepthName().get());
    return OptionalLong.of(
        environment.strictNumber(names, DEFAULT_PIPELINE_DEPTH, PIPELINE_DEPTHS).orThrow());
  }

  private static boolean note(Setting<?> setting, List<String> complaints) {
    if (setting instanceof Setting.Rejected<?> rejected) {
      complaints.add(rejected.complaint());
      return false;
    }
    return true;
  }

  private static RailChain rail0(EmptyDevice empty, List<String> devices, List<String> gids) {
    return new RailChain(Optional.empty(), devices, empty, "roceP2p1s0f1", gids);
  }

  private static RailChain rail1(
      String onlyIf, EmptyDevice empty, List<String> devices, List<String> gids) {
    return new RailChain(Optional.of(onlyIf), devices, empty, "rocep1s0f1", gids);
  }

  /** Chains that more than one tier uses; apart, since an enum's own constants come later. */
  private static final class Names {
    static final List<String> EXPERT_DEV = List.of("METRALE_EXPERT_RDMA_DEV");
    static final List<String> EXPERT_GID = List.of("METRALE_EXPERT_RDMA_GID");
    static final List<String> EXPERT_DEV2 = List.of("METRALE_EXPERT_RAIL2_DEV");
    static final List<String> EXPERT_GID2 = List.of("METRALE_EXPERT_RAIL2_GID");
    static final String KV_DUAL = "METRALE_KV_DUAL_RAIL";
    static final List<String> KV_DEV2 = List.of("METRALE_KV_RAIL2_DEV");
    static final List<String> KV_GID2 = List.of("METRALE_KV_RAIL2_GID");

    private Names() {}
  }
}
