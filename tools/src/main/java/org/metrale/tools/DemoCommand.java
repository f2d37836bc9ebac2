package org.metrale.tools;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.cuda.CudaLibrary;
import org.metrale.gpu.nccl.NcclLibrary;
import org.metrale.gpu.nccl.NcclTcpBootstrap;
import org.metrale.gpu.nccl.NcclUniqueId;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Collectives over two processes, checked, and a rank that is killed; rails, and one cut. */
@Command(
    name = "demo",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Runs collectives on four ranks in two processes, checks every number, then kills one rank"
          + " and shows who is missing and that the others come back in time.",
      "Then reads and writes another process's memory over two RDMA rails, checks it, and cuts one"
          + " rail in the middle.",
      "Runs on GPUs and RDMA devices if there are any (two ranks on two or three GPUs), else on the"
          + " software GPU host, and says which."
    },
    footer = "Exit code 0 if everything was right, 1 if not, 2 for wrong arguments.")
final class DemoCommand implements Callable<Integer> {
  private static final int BAR_WIDTH = 78;
  private static final int BAR_MILLIS = 200;
  private static final int SECRET_BYTES = 16;
  private static final long RAILS_SECONDS = 180;

  /** What the demo consists of. */
  enum Part {
    COLLECTIVES,
    RAILS
  }

  /** Held here, since the log manager would forget its level. */
  private static final Logger LIBRARY_LOG = Logger.getLogger("org.metrale.gpu.nccl");

  @Option(
      names = "--only",
      paramLabel = "PART",
      description = "One part of it: ${COMPLETION-CANDIDATES}.")
  private Part only;

  @Mixin private DemoPlan plan;
  @Mixin private EmulatorOptions emulatorOptions;
  @Spec private CommandSpec spec;

  /** For the parser of arguments. */
  DemoCommand() {}

  @Override
  public Integer call() throws ToolException, InterruptedException {
    String problem = plan.problem();
    if (problem != null) {
      throw new ParameterException(spec.commandLine(), problem);
    }
    long started = System.nanoTime();
    PrintWriter out = spec.commandLine().getOut();
    DemoProbe found = emulatorOptions.isWanted() ? DemoProbe.none() : DemoProbe.run();
    boolean emulated = false;
    boolean right = true;
    if (!Part.RAILS.equals(only)) {
      try (DemoHost host = DemoHost.choose(emulatorOptions, found)) {
        emulated = !host.mark().isEmpty();
        right = collectives(host, out);
      }
    }
    if (!Part.COLLECTIVES.equals(only)) {
      emulated |= emulatorOptions.isWanted() || found.rdmaDevices() == 0 || found.rdmaEmulated();
      right &= rails(found);
    }
    out.printf(
        "%s%s after %s%n",
        emulated ? "EMULATED: " : "",
        right ? "everything was right" : "NOT EVERYTHING WAS RIGHT",
        Quantities.nanos(System.nanoTime() - started));
    out.flush();
    return right ? 0 : 1;
  }

  private boolean collectives(DemoHost host, PrintWriter out)
      throws ToolException, InterruptedException {
    out.printf(
        "%smetrale demo: %d ranks in two processes on %s%n",
        host.mark(), host.ranks(), host.description());
    out.flush();
    try (DemoPeer peer = DemoPeer.start(plan, host.ranks() - 1, host.ranks())) {
      return run(host, peer, out);
    } catch (GpuException | ToolException | IOException e) {
      spec.commandLine().getErr().println("demo: " + e.getMessage());
      spec.commandLine().getErr().flush();
      return false;
    }
  }

  /** The rails have a process of their own, which prints its part of the story itself. */
  private boolean rails(DemoProbe found) throws ToolException, InterruptedException {
    List<String> arguments = new ArrayList<>(List.of("demo-rails"));
    arguments.add("--deadline=" + plan.deadline().toSeconds());
    arguments.addAll(emulatorOptions.arguments());
    if (emulatorOptions.isWanted()) {
      arguments.add("--reason=asked for");
    } else if (found.rdmaDevices() == 0) {
      arguments.add("--emulated");
      arguments.add("--reason=no RDMA device can be used here: " + found.rdmaProblem());
    }
    Process child = ChildJvm.startSpeaking(arguments);
    try {
      if (child.waitFor(RAILS_SECONDS, TimeUnit.SECONDS)) {
        return child.exitValue() == 0;
      }
      throw new ToolException("the rails' process did not end in " + RAILS_SECONDS + " s");
    } finally {
      child.destroyForcibly();
    }
  }

  private boolean run(DemoHost host, DemoPeer peer, PrintWriter out)
      throws ToolException, InterruptedException, IOException {
    int here = host.ranks() - 1;
    NcclUniqueId id = meet(peer);
    try (DemoRanks ranks = DemoRanks.join(plan, id, 0, here, host.ranks())) {
      out.printf(
          "%s in process %d, rank %d in process %d; NCCL %s, driver %s, deadline %d s%n",
          here == 1 ? "rank 0" : "ranks 0 to " + (here - 1),
          ProcessHandle.current().pid(),
          peer.rank(),
          peer.pid(),
          NcclLibrary.version().orElse("unknown"),
          CudaLibrary.version().orElse("unknown"),
          plan.deadline().toSeconds());
      out.flush();
      List<DemoResult> results = exercise(ranks);
      results = withPeer(results, peer);
      out.printf("%nrank %d's process is killed while all-reduces run%n", peer.rank());
      out.flush();
      LIBRARY_LOG.setLevel(Level.OFF); // each failure would be logged with its whole record
      DemoLoss loss = DemoLoss.provoke(ranks, peer, plan);
      print(loss, peer, out);
      print(results, host.ranks(), out);
      return results.stream().allMatch(DemoResult::isRight)
          && loss.isRight(peer.rank(), host.ranks());
    }
  }

  private static NcclUniqueId meet(DemoPeer peer)
      throws ToolException, InterruptedException, IOException {
    byte[] secret = new byte[SECRET_BYTES];
    new SecureRandom().nextBytes(secret);
    String shared = HexFormat.of().formatHex(secret);
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    peer.meetAt(port, shared, DemoRanks.JOIN_TIMEOUT);
    return NcclTcpBootstrap.onLoopback(port, DemoRanks.JOIN_TIMEOUT).withSecret(shared).agree(2, 0);
  }

  private List<DemoResult> exercise(DemoRanks ranks) throws ToolException, InterruptedException {
    DemoExercise[] exercises = DemoExercise.values();
    long steps = (long) exercises.length * plan.bytes().size() * plan.iterations();
    List<DemoResult> results = new ArrayList<>();
    try (ProgressBar bar =
        new ProgressBarBuilder()
            .setConsumer(new ConsoleProgressBarConsumer(System.err, BAR_WIDTH))
            .setStyle(ProgressBarStyle.ASCII)
            .setUpdateIntervalMillis(BAR_MILLIS)
            .setInitialMax(steps)
            .setTaskName("operations")
            .build()) {
      for (long bytes : plan.bytes()) {
        for (DemoExercise exercise : exercises) {
          bar.setExtraMessage(exercise.title());
          results.add(ranks.run(exercise, bytes, plan, bar::step));
        }
      }
    }
    return results;
  }

  private List<DemoResult> withPeer(List<DemoResult> results, DemoPeer peer)
      throws ToolException, InterruptedException {
    List<String> problems = peer.problems(results.size(), plan.deadline());
    List<DemoResult> out = new ArrayList<>();
    for (int i = 0; i < results.size(); i++) {
      DemoResult one = results.get(i);
      String problem = one.isRight() ? problems.get(i) : one.problem();
      out.add(new DemoResult(one.exercise(), one.bytes(), one.medianNanos(), problem));
    }
    return out;
  }

  private void print(DemoLoss loss, DemoPeer peer, PrintWriter out) {
    out.printf(
        "  missing: %s (process %d, exit code %s)%n",
        loss.missing().description(),
        peer.pid(),
        loss.exitCode().map(String::valueOf).orElse("none yet"));
    for (DemoLoss.Survivor one : loss.survivors()) {
      out.printf(
          "  rank %d came back %s after the kill, %s: %s%n",
          one.rank(),
          Quantities.nanos(one.nanos()),
          one.inTime() ? "within its deadline" : "TOO LATE",
          one.failure());
    }
    out.println();
    out.flush();
  }

  private static void print(List<DemoResult> results, int ranks, PrintWriter out) {
    TextTable table =
        new TextTable(
            "operation", "size", "ranks", "median time", "algorithm bandwidth", "every number");
    for (DemoResult one : results) {
      table.row(
          one.exercise().title(),
          Quantities.bytes(one.bytes()),
          Integer.toString(ranks),
          Quantities.nanos(one.medianNanos()),
          Quantities.bandwidth(one.bytesPerSecond()),
          one.isRight() ? "right" : "WRONG: " + one.problem());
    }
    table.lines().forEach(out::println);
    out.println();
    out.flush();
  }
}
