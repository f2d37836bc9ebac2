package org.metrale.gpu.rail;

import java.util.function.Supplier;
import org.bytedeco.javacpp.Pointer;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.RailDialect;

/**
 * Uses more memory than JavaCPP's limit, so that it throws an {@link OutOfMemoryError} wherever it
 * makes something native. Prints what failed by it, and whether all could be closed afterwards.
 */
final class MemoryLimitProbe {
  private static final long MUCH = 512L << 20;

  private MemoryLimitProbe() {}

  /** Runs it. */
  public static void main(String[] arguments) throws Exception {
    try (RailHost host =
        new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), 4096, RailDialect.READ_WRITE)) {
      Pointer much = Pointer.malloc(MUCH);
      Pointer.memset(much, 1, MUCH);
      System.out.println("memory=" + failure(() -> host.memory(4096)));
      System.out.println(
          "rails=" + failure(() -> RailSet.open(RailHost.specs(RdmaDevices.clients()))));
      System.out.println(
          "end="
              + failure(
                  () ->
                      RailEnd.prepare(
                          host.clientRails, 0, VerbsAccess.LOCAL_READ, new PacketNumbers())));
      Pointer.free(much);
    }
    System.out.println("closed=true");
  }

  private static String failure(Supplier<Object> attempt) {
    try {
      attempt.get();
      return "";
    } catch (OutOfMemoryError e) {
      return e.getClass().getSimpleName();
    }
  }
}
