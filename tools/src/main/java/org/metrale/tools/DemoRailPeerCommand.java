package org.metrale.tools;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.zip.CRC32C;
import org.metrale.gpu.rail.RailMemory;
import org.metrale.gpu.rail.RailServer;
import org.metrale.gpu.rail.RailServerOptions;
import org.metrale.gpu.rail.RailSet;
import org.metrale.gpu.rail.RailSpec;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * The second process of the demo's rails: an arena with known bytes.
 *
 * <p>Prints its port, then answers each line of its input with the CRC-32C of the arena as this
 * process sees it. Ends with its input.
 */
@Command(name = "demo-rail-peer", hidden = true, description = "Used by demo.")
final class DemoRailPeerCommand implements Callable<Integer> {
  /** What the port's line begins with. */
  static final String PORT = "port ";

  /** What a checksum's line begins with. */
  static final String SUM = "sum ";

  private static final int BLOCK = 1 << 20;

  @Option(names = "--device", required = true)
  private List<String> devices;

  @Option(names = "--bytes", required = true)
  private long bytes;

  @Spec private CommandSpec spec;

  /** For the parser of arguments. */
  DemoRailPeerCommand() {}

  @Override
  public Integer call() throws IOException {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (RailSet rails = RailSet.open(devices.stream().map(RailSpec::of).toList());
        RailServed served = RailServed.arena(rails, bytes, true)) {
      RailMemory arena = served.memory().get(0);
      fill(arena, 1);
      try (RailServer server =
          RailServer.start(rails, served.service(), RailServerOptions.loopback())) {
        say(PORT + server.address().getPort());
        while (in.readLine() != null) {
          say(SUM + Checksum.text(crc32c(arena)));
        }
      }
    }
    return 0;
  }

  private void say(String line) {
    PrintWriter out = spec.commandLine().getOut();
    out.println(line);
    out.flush();
  }

  /** Fills memory with bytes that are the same for the same seed. */
  static void fill(RailMemory memory, long seed) {
    SplittableRandom random = new SplittableRandom(seed);
    byte[] block = new byte[BLOCK];
    for (long at = 0; at < memory.lengthBytes(); at += BLOCK) {
      random.nextBytes(block);
      int length = (int) Math.min(BLOCK, memory.lengthBytes() - at);
      memory.write(at, ByteBuffer.wrap(block, 0, length));
    }
  }

  static int crc32c(RailMemory memory) {
    CRC32C sum = new CRC32C();
    ByteBuffer block = ByteBuffer.allocate(BLOCK);
    for (long at = 0; at < memory.lengthBytes(); at += BLOCK) {
      block.clear().limit((int) Math.min(BLOCK, memory.lengthBytes() - at));
      memory.read(at, block);
      sum.update(block.flip());
    }
    return (int) sum.getValue();
  }
}
