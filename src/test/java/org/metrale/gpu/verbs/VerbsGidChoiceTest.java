package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.junit.jupiter.api.Test;

/** Which address is told to peers, and why; from tables alone. */
class VerbsGidChoiceTest {
  /** The best first. */
  private static final List<VerbsGidEntry> ORDER =
      List.of(
          entry(9, VerbsGidType.ROCE_V2, "::ffff:10.20.0.1"),
          entry(8, VerbsGidType.ROCE_V2, "fd00:20::1"),
          entry(7, VerbsGidType.ROCE_V2, "::ffff:169.254.3.4"),
          entry(6, VerbsGidType.INFINIBAND, "fe80::1"),
          entry(5, new VerbsGidType(255), "::ffff:10.20.0.1"),
          entry(4, VerbsGidType.ROCE_V1, "::ffff:10.20.0.1"));

  private static final List<String> REASONS =
      List.of(
          "RoCE v2 with a routable IPv4 address",
          "RoCE v2 with a routable IPv6 address; no IPv4 address is there",
          "RoCE v2, but link-local: reaches peers on the same link only",
          "InfiniBand",
          "the kernel does not say which protocol it is for",
          "RoCE v1: cannot be routed; nothing better is there");

  private static VerbsGidEntry entry(int gidIndex, VerbsGidType type, String address) {
    return new VerbsGidEntry(gidIndex, type, gid(address), "eth0");
  }

  private static VerbsGid gid(String address) {
    try {
      byte[] bytes = InetAddress.getByName(address).getAddress();
      if (bytes.length == 4) {
        // The JDK turns an IPv4-mapped address into an IPv4 address by itself.
        byte[] mapped = new byte[VerbsGid.BYTES];
        mapped[10] = (byte) 0xff;
        mapped[11] = (byte) 0xff;
        System.arraycopy(bytes, 0, mapped, 12, 4);
        return VerbsGid.of(mapped);
      }
      return VerbsGid.of(bytes);
    } catch (UnknownHostException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void theBestOfWhatIsThereIsChosenWhereverItStands() {
    Random random = new Random(3);
    for (int best = 0; best < ORDER.size(); best++) {
      List<VerbsGidEntry> table = new ArrayList<>(ORDER.subList(best, ORDER.size()));
      for (int i = 0; i < 20; i++) {
        Collections.shuffle(table, random);
        VerbsGidChoice choice = VerbsGidChoice.of(table).orElseThrow();
        assertEquals(ORDER.get(best), choice.entry());
        assertEquals(REASONS.get(best), choice.reason());
      }
    }
  }

  @Test
  void aLinkLocalAddressOfEitherKindComesAfterTheRoutable() {
    VerbsGidEntry local = entry(0, VerbsGidType.ROCE_V2, "fe80::1");
    VerbsGidEntry routable = entry(1, VerbsGidType.ROCE_V2, "2001:db8::1");
    assertEquals(routable, VerbsGidChoice.of(List.of(local, routable)).orElseThrow().entry());
    assertEquals(local, VerbsGidChoice.of(List.of(local)).orElseThrow().entry());
  }

  @Test
  void amongEqualsTheFirstIsChosenAndTheirNumberIsSaid() {
    VerbsGidEntry first = entry(2, VerbsGidType.ROCE_V2, "::ffff:10.0.0.1");
    VerbsGidEntry second = entry(3, VerbsGidType.ROCE_V2, "::ffff:10.0.0.2");
    VerbsGidChoice choice = VerbsGidChoice.of(List.of(first, second)).orElseThrow();
    assertEquals(first, choice.entry());
    assertTrue(choice.reason().endsWith("; the first of 2"), choice::reason);
  }

  @Test
  void anEmptyPlaceIsNoAddress() {
    VerbsGidEntry empty = entry(0, VerbsGidType.ROCE_V2, "::");
    assertEquals(Optional.empty(), VerbsGidChoice.of(List.of(empty)));
    assertEquals(Optional.empty(), VerbsGidChoice.of(List.of()));
  }
}
