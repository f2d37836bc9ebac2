package org.metrale.gpu.env;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class RailTierTest {
  private static final RailSetting DEFAULT_FIRST = new RailSetting("roceP2p1s0f1", 3);
  private static final RailSetting DEFAULT_SECOND = new RailSetting("rocep1s0f1", 3);

  @ParameterizedTest
  @EnumSource(RailTier.class)
  void everyTierHasOneRailByDefault(RailTier tier) {
    Environment none = Environment.of(Map.of());
    assertEquals(List.of(DEFAULT_FIRST), tier.lenient(none));
    assertEquals(List.of(DEFAULT_FIRST), tier.strict(none));
  }

  @ParameterizedTest
  @CsvSource({
    "EXPERT,METRALE_EXPERT_DUAL_RAIL",
    "KV,METRALE_KV_DUAL_RAIL",
    "SSM,METRALE_KV_DUAL_RAIL",
    "WEIGHT,METRALE_WEIGHT_DUAL_RAIL"
  })
  void secondRailComesWithItsSwitch(RailTier tier, String name) {
    Environment on = Environment.of(Map.of(name, "1"));
    assertEquals(List.of(DEFAULT_FIRST, DEFAULT_SECOND), tier.lenient(on));
    assertEquals(List.of(DEFAULT_FIRST, DEFAULT_SECOND), tier.strict(on));
    assertEquals(1, tier.lenient(Environment.of(Map.of(name, "true"))).size());
  }

  @ParameterizedTest
  @CsvSource({
    "EXPERT,METRALE_EXPERT_DUAL_RAIL,METRALE_EXPERT_RAIL2_DEV,METRALE_EXPERT_RAIL2_GID",
    "KV,METRALE_KV_DUAL_RAIL,METRALE_KV_RAIL2_DEV,METRALE_KV_RAIL2_GID",
    "SSM,METRALE_KV_DUAL_RAIL,METRALE_KV_RAIL2_DEV,METRALE_KV_RAIL2_GID",
    "WEIGHT,METRALE_WEIGHT_DUAL_RAIL,METRALE_WEIGHT_RAIL2_DEV,METRALE_EXPERT_RAIL2_GID"
  })
  void secondRailIsNamedByItsTier(RailTier tier, String dual, String device, String gid) {
    Environment environment = Environment.of(Map.of(dual, "1", device, "mlx5_9", gid, "+7"));
    assertEquals(List.of(DEFAULT_FIRST, new RailSetting("mlx5_9", 7)), tier.lenient(environment));
  }

  @ParameterizedTest
  @CsvSource({"EXPERT,expert,5", "KV,expert,5", "SSM,expert,5", "WEIGHT,weight,6", "LORA,lora,7"})
  void firstRailTakesTheMostSpecificVariable(RailTier tier, String device, long gid) {
    Environment all =
        Environment.of(
            Map.of(
                "METRALE_EXPERT_RDMA_DEV",
                "expert",
                "METRALE_EXPERT_RDMA_GID",
                "5",
                "METRALE_WEIGHT_RDMA_DEV",
                "weight",
                "METRALE_WEIGHT_RDMA_GID",
                "6",
                "METRALE_LORA_RDMA_DEV",
                "lora",
                "METRALE_LORA_RDMA_GID",
                "7"));
    assertEquals(List.of(new RailSetting(device, gid)), tier.lenient(all));
    assertEquals(tier.lenient(all), tier.strict(all));
  }

  @Test
  void adapterGidHasNoFallback() {
    Environment environment =
        Environment.of(Map.of("METRALE_WEIGHT_RDMA_GID", "6", "METRALE_EXPERT_RDMA_GID", "5"));
    assertEquals(3, RailTier.LORA.lenient(environment).get(0).gidIndex());
    assertEquals(6, RailTier.WEIGHT.lenient(environment).get(0).gidIndex());
  }

  @Test
  void emptyDeviceCountsForAllButWeights() {
    Environment environment =
        Environment.of(
            Map.of(
                "METRALE_EXPERT_RDMA_DEV", "",
                "METRALE_LORA_RDMA_DEV", "",
                "METRALE_WEIGHT_RDMA_DEV", "weight"));
    assertEquals("", RailTier.EXPERT.lenient(environment).get(0).device());
    assertEquals("", RailTier.LORA.lenient(environment).get(0).device());
    assertEquals(
        "roceP2p1s0f1",
        RailTier.WEIGHT
            .lenient(Environment.of(Map.of("METRALE_WEIGHT_RDMA_DEV", "")))
            .get(0)
            .device());
  }

  @Test
  void strictNamesEveryVariableAtFault() {
    Environment environment =
        Environment.of(
            Map.of(
                "METRALE_EXPERT_RDMA_DEV", "",
                "METRALE_EXPERT_RDMA_GID", "3x",
                "METRALE_KV_DUAL_RAIL", "yes"));
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> RailTier.KV.strict(environment));
    for (String name :
        List.of(
            "METRALE_EXPERT_RDMA_DEV=",
            "METRALE_EXPERT_RDMA_GID=\"3x\"",
            "METRALE_KV_DUAL_RAIL=")) {
      assertTrue(e.getMessage().contains(name), e.getMessage());
    }
    assertEquals(List.of(new RailSetting("", 3)), RailTier.KV.lenient(environment));
  }

  @Test
  void strictIgnoresVariablesOfARailThatIsOff() {
    Environment environment = Environment.of(Map.of("METRALE_KV_RAIL2_GID", "x"));
    assertEquals(List.of(DEFAULT_FIRST), RailTier.KV.strict(environment));
  }

  @Test
  void strictRefusesAGidIndexThatNoTableHas() {
    Environment environment = Environment.of(Map.of("METRALE_EXPERT_RDMA_GID", "256"));
    assertEquals(256, RailTier.EXPERT.lenient(environment).get(0).gidIndex());
    assertThrows(IllegalArgumentException.class, () -> RailTier.EXPERT.strict(environment));
  }

  @Test
  void pipelineDepthIsCheckedWhereTheTierHasOne() {
    Environment deep = Environment.of(Map.of("METRALE_KV_PIPELINE_DEPTH", "128"));
    Environment tooDeep = Environment.of(Map.of("METRALE_SSM_PIPELINE_DEPTH", "129"));
    assertEquals(OptionalLong.of(128), RailTier.KV.strictPipelineDepth(deep));
    assertEquals(OptionalLong.of(16), RailTier.SSM.strictPipelineDepth(deep));
    assertEquals(OptionalLong.empty(), RailTier.WEIGHT.strictPipelineDepth(tooDeep));
    assertThrows(IllegalArgumentException.class, () -> RailTier.SSM.strictPipelineDepth(tooDeep));
  }

  @Test
  void onlyTheExpertTierHasNoPeerVariable() {
    for (RailTier tier : RailTier.values()) {
      assertEquals(tier != RailTier.EXPERT, tier.peerName().isPresent());
    }
  }
}
