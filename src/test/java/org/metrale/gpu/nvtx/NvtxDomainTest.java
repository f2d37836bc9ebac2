package org.metrale.gpu.nvtx;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("native")
final class NvtxDomainTest {
  private static final NvtxDomain DOMAIN = NvtxDomain.of("domain test");

  @Test
  void isTheSameForTheSameName() {
    assertSame(DOMAIN, NvtxDomain.of("domain test"));
    assertEquals("domain test", DOMAIN.name());
    assertEquals("", NvtxDomain.defaultDomain().name());
  }

  @Test
  void refusesEmptyName() {
    assertThrows(IllegalArgumentException.class, () -> NvtxDomain.of(""));
  }

  @Test
  void refusesCategoryOfAnotherDomain() {
    NvtxCategory foreign = NvtxDomain.of("another").category("x");
    NvtxName name = DOMAIN.register("y");
    assertThrows(IllegalArgumentException.class, () -> name.withCategory(foreign));
  }

  @Test
  void numbersCategoriesOnce() {
    assertEquals(DOMAIN.category("c"), DOMAIN.category("c"));
    assertFalse(DOMAIN.category("c").number() == DOMAIN.category("d").number());
  }

  @Test
  void handsOutOneRangeWithoutTool() {
    NvtxRange one = DOMAIN.push("one");
    NvtxRange two = DOMAIN.push(DOMAIN.register("two"));
    one.close();
    two.close();
    assertSame(one, two);
    assertFalse(NvtxTool.isAttached());
  }

  @Test
  void closesRangeWhenActionThrows() {
    assertThrows(
        IllegalStateException.class,
        () ->
            DOMAIN.call(
                "failing",
                () -> {
                  throw new IllegalStateException("expected");
                }));
  }
}
