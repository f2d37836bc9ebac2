package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.metrale.gpu.env.Environment;
import org.metrale.gpu.env.RailTier;

/** What is decided before any device is touched. */
final class RailAdmissionTest {
  @Test
  void aLedgerTakesAnExactFitAndNoMore() {
    MemoryLedger ledger = MemoryLedger.of(100);
    assertTrue(ledger.tryReserve(60));
    assertTrue(ledger.tryReserve(40));
    assertTrue(ledger.tryReserve(0));
    assertFalse(ledger.tryReserve(1));
    ledger.release(60);
    assertEquals(40, ledger.reservedBytes());
    assertFalse(ledger.tryReserve(Long.MAX_VALUE));
  }

  @Test
  void aLedgerWithoutCeilingStillDoesNotOverflow() {
    MemoryLedger ledger = MemoryLedger.of(0);
    assertTrue(ledger.tryReserve(Long.MAX_VALUE));
    assertFalse(ledger.tryReserve(1));
  }

  @Test
  void networksAreComparedByTheirBits() throws Exception {
    AddressFilter filter = AddressFilter.only("10.20.0.0/15", "fd00::/8", "127.0.0.1");
    for (String yes : List.of("10.21.255.1", "fd12::1", "127.0.0.1")) {
      assertTrue(filter.allows(InetAddress.getByName(yes)), yes);
    }
    for (String no : List.of("10.22.0.1", "fe80::1", "127.0.0.2", "::1")) {
      assertFalse(filter.allows(InetAddress.getByName(no)), no);
    }
    assertTrue(AddressFilter.anyone().allows(InetAddress.getLoopbackAddress()));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"localhost", "10.0.0.0/33", "10.0.0.0/x", "", "/8", "10.0.0.0/-1", "10/8", "10.1"})
  void whatIsNoNetworkIsRefused(String text) {
    assertThrows(IllegalArgumentException.class, () -> AddressFilter.only(text));
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 9})
  void asManyRailsAsTheWireCarriesAndNoMore(int rails) {
    List<RailSpec> specs = Collections.nCopies(rails, RailSpec.of("mlx5_0"));
    assertThrows(IllegalArgumentException.class, () -> RailSet.open(specs).close());
  }

  @Test
  void specsComeFromTheEnvironment() {
    Environment environment =
        Environment.of(
            Map.of(
                "METRALE_EXPERT_RDMA_DEV", "mlx5_7",
                "METRALE_EXPERT_RDMA_GID", "5",
                "METRALE_KV_DUAL_RAIL", "1",
                "METRALE_KV_PIPELINE_DEPTH", "40"));
    List<RailSpec> specs = RailSpec.fromEnvironment(RailTier.KV, environment);
    assertEquals(2, specs.size());
    assertEquals("mlx5_7", specs.get(0).device());
    assertEquals(5, specs.get(0).path().gidIndex());
    assertEquals(40, specs.get(1).depth());
    assertEquals("rocep1s0f1", specs.get(1).device());
    assertEquals(
        RailSpec.DEFAULT_DEPTH,
        RailSpec.fromEnvironment(RailTier.LORA, environment).get(0).depth());
    assertThrows(
        IllegalArgumentException.class,
        () ->
            RailSpec.fromEnvironment(
                RailTier.KV, Environment.of(Map.of("METRALE_EXPERT_RDMA_GID", "256"))));
  }
}
