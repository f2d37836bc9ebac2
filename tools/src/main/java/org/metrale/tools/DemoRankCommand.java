package org.metrale.tools;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.concurrent.Callable;
import org.metrale.gpu.nccl.NcclOperation;
import org.metrale.gpu.nccl.NcclTcpBootstrap;
import org.metrale.gpu.nccl.NcclUniqueId;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/**
 * The demo's second process, with the last rank.
 *
 * <p>Reads a port and a secret from standard input, runs the plan, and then one operation after the
 * other until it is killed or standard input ends. Writes a line an event to standard output;
 * {@link DemoPeer} reads them.
 */
@Command(name = "demo-rank", hidden = true, description = "Used by demo.")
final class DemoRankCommand implements Callable<Integer> {
  /** Between two operations, so that what it last reported is what it last did. */
  private static final long PAUSE_MILLIS = 20;

  @Option(names = "--rank", required = true)
  private int rank;

  @Option(names = "--ranks", required = true)
  private int ranks;

  @Mixin private DemoPlan plan;

  @Spec private CommandSpec spec;

  /** For the parser of arguments. */
  DemoRankCommand() {}

  @Override
  public Integer call() throws IOException, ToolException, InterruptedException {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    say("hello");
    String first = in.readLine();
    if (first == null) {
      return ParentWatch.PARENT_GONE;
    }
    String[] words = first.split(" ", 2);
    ParentWatch.begin(in);
    NcclUniqueId id =
        NcclTcpBootstrap.onLoopback(Integer.parseInt(words[0]), DemoRanks.JOIN_TIMEOUT)
            .withSecret(words[1])
            .agree(2, 1);
    try (DemoRanks mine = DemoRanks.join(plan, id, rank, 1, ranks)) {
      for (long bytes : plan.bytes()) {
        for (DemoExercise exercise : DemoExercise.values()) {
          say("result " + mine.run(exercise, bytes, plan, () -> {}).problem());
        }
      }
      goOn(mine);
    }
    return 0;
  }

  private void goOn(DemoRanks mine) throws InterruptedException {
    while (true) {
      for (NcclOperation operation : mine.issue(DemoExercise.ALL_REDUCE, plan.bytes().get(0))) {
        operation.await(plan.deadline().multipliedBy(2));
      }
      String record = mine.all().get(0).communicator().flightRecord().toString();
      say("record " + Base64.getEncoder().encodeToString(record.getBytes(StandardCharsets.UTF_8)));
      Thread.sleep(PAUSE_MILLIS);
    }
  }

  private void say(String line) {
    PrintWriter out = spec.commandLine().getOut();
    out.println(line);
    out.flush();
  }
}
