package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.List;
import org.metrale.gpu.verbs.VerbsDevice;

/**
 * The RDMA devices that tests use: those of the software GPU host are at both ends, those of the
 * machine with real RDMA have the end in their names.
 */
public final class RdmaDevices {
  private RdmaDevices() {}

  /** One device a rail at the client's end. */
  public static List<String> clients() {
    return at("a");
  }

  /** One device a rail at the server's end. */
  public static List<String> servers() {
    return at("b");
  }

  private static List<String> at(String end) {
    List<String> all = VerbsDevice.list();
    if (NativeLibrary.IBVERBS.isEmulated()) {
      return all;
    }
    List<String> out =
        all.stream().filter(name -> name.matches("rxe_r\\d" + end)).sorted().toList();
    assertFalse(out.isEmpty(), () -> "no device at end " + end + " among " + all);
    return out;
  }
}
