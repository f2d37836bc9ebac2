package org.metrale.tools;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.metrale.emulator.Emulator;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.rail.RailClient;
import org.metrale.gpu.rail.RailSet;
import org.metrale.gpu.rail.RailSpec;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * The demo's rails, in a process of their own: the collectives' process may have the software GPU
 * host where this one has real adapters, or the other way round.
 */
@Command(name = "demo-rails", hidden = true, description = "Used by demo.")
final class DemoRailsCommand implements Callable<Integer> {
  private static final int RAILS = 2;
  private static final int DEPTH = 2;

  @Option(names = "--reason")
  private String reason = "";

  @Option(names = "--bytes", defaultValue = "33554432")
  private long bytes;

  @Option(names = "--deadline", defaultValue = "10")
  private int deadlineSeconds;

  @Mixin private EmulatorOptions emulatorOptions;
  @Spec private CommandSpec spec;

  /** For the parser of arguments. */
  DemoRailsCommand() {}

  @Override
  public Integer call() throws Exception {
    ParentWatch.begin(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)));
    long started = System.nanoTime();
    PrintWriter out = spec.commandLine().getOut();
    boolean right = false;
    AutoCloseable emulator = startIfWanted();
    try {
      try {
        right = run(out);
      } catch (GpuException | ToolException | IOException e) {
        spec.commandLine().getErr().println("demo: " + e.getMessage());
        spec.commandLine().getErr().flush();
      }
      out.printf(
          "%srails: %s after %s%n",
          RailOptions.mark(),
          right ? "everything was right" : "NOT EVERYTHING WAS RIGHT",
          Quantities.nanos(System.nanoTime() - started));
      out.flush();
    } finally {
      emulator.close();
    }
    return right ? 0 : 1;
  }

  /**
   * The software GPU host whose second adapter fails one request: none of those before the cut,
   * which are at most three for each piece.
   */
  private AutoCloseable startIfWanted() throws ToolException {
    if (!emulatorOptions.isWanted()) {
      return () -> {};
    }
    long pieces = bytes / RailClient.DEFAULT_PIECE_BYTES + 1;
    String cut = "ibverbs.transfer device=1 call=" + (3 * pieces + 1) + " code=12";
    return emulatorOptions.start(Emulator.machine().fault(cut));
  }

  private boolean run(PrintWriter out) throws ToolException, InterruptedException, IOException {
    List<RailSpec> found = RailOptions.found();
    List<RailSpec> specs = new ArrayList<>();
    for (int rail = 0; rail < RAILS; rail++) {
      // Two rails over one adapter if there is no other; few requests at once, so that a rail can
      // be cut while most of a transfer is still to come.
      specs.add(found.get(rail % found.size()).withDepth(DEPTH));
    }
    List<String> devices = specs.stream().map(RailSpec::device).toList();
    Duration deadline = Duration.ofSeconds(deadlineSeconds);
    try (DemoRailPeer peer = DemoRailPeer.start(devices, bytes)) {
      out.printf(
          "%srails: process %d reads and writes %s of process %d on %d rails: %s (%s%s)%n",
          RailOptions.mark(),
          ProcessHandle.current().pid(),
          Quantities.bytes(bytes),
          peer.pid(),
          RAILS,
          RailOptions.names(specs),
          RailOptions.level(specs),
          reason.isEmpty() ? "" : "; " + reason);
      out.flush();
      RailAddress address = peer.address();
      RailSet rails = RailSet.open(specs);
      long before = System.nanoTime();
      try (RailSession session =
          RailSession.open(rails, deadline, address, new RailSession.Arena(bytes), bytes)) {
        out.printf("handshake in %s%n", Quantities.nanos(System.nanoTime() - before));
        out.flush();
        DemoRails demo = new DemoRails(session, peer, deadline);
        return demo.run(emulatorOptions.isWanted(), out);
      }
    }
  }
}
