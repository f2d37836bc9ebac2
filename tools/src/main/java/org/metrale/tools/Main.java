package org.metrale.tools;

import java.io.PrintWriter;
import org.metrale.gpu.GpuException;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * The command line's entry.
 *
 * <p>Exit codes: 0 if what was asked for worked, 1 if it did not, 2 for arguments that are wrong.
 */
@Command(
    name = "metrale",
    mixinStandardHelpOptions = true,
    version = "metrale-gpu-tools 0.1.0",
    description = "GPU and RDMA for the JVM: demonstration, telemetry, storage, rails.",
    subcommands = {
      DemoCommand.class,
      TopCommand.class,
      GdsCommand.class,
      RailCommand.class,
      DemoProbeCommand.class,
      DemoRankCommand.class,
      DemoRailsCommand.class,
      DemoRailPeerCommand.class
    })
public final class Main implements Runnable {
  @Spec private CommandSpec spec;

  /** For the parser of arguments. */
  Main() {}

  /**
   * Runs a command and ends the process.
   *
   * @param arguments the command and its arguments
   */
  public static void main(String[] arguments) {
    // A driver may still hold a thread: the process ends all the same.
    System.exit(commandLine().execute(arguments));
  }

  static CommandLine commandLine() {
    CommandLine line = new CommandLine(new Main());
    line.setCaseInsensitiveEnumValuesAllowed(true);
    line.setExecutionExceptionHandler(Main::failed);
    line.setParameterExceptionHandler(Main::misused);
    return line;
  }

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "a command is missing");
  }

  /** A line that says what is wrong; which commands there are only where one is missing. */
  private static int misused(ParameterException failure, String[] ignoredArguments) {
    CommandLine line = failure.getCommandLine();
    PrintWriter err = line.getErr();
    err.println(name(line) + failure.getMessage());
    if (line.getSubcommands().isEmpty()) {
      err.println("(" + line.getCommandSpec().qualifiedName() + " --help says more)");
    } else {
      line.usage(err);
    }
    err.flush();
    return line.getCommandSpec().exitCodeOnInvalidInput();
  }

  private static String name(CommandLine line) {
    String name = line.getCommandSpec().qualifiedName().replaceFirst("^metrale ?", "");
    return name.isEmpty() ? "" : name + ": ";
  }

  /** Failures that a user can do something about are a line; anything else is a fault of ours. */
  private static int failed(
      Exception failure, CommandLine line, CommandLine.ParseResult ignoredResult) {
    PrintWriter err = line.getErr();
    if (failure instanceof GpuException || failure instanceof ToolException) {
      err.println(name(line) + failure.getMessage());
    } else {
      failure.printStackTrace(err);
    }
    err.flush();
    return 1;
  }
}
