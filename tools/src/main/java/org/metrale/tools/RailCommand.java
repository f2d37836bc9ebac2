package org.metrale.tools;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Memory of one process read and written by another, over RDMA. */
@Command(
    name = "rail",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Serves a file or an arena over RDMA rails, reads and writes a peer's, and measures.",
      "Needs an RDMA device on both sides, adapter or Soft-RoCE; --emulated tries it without any."
    },
    subcommands = {
      RailServeCommand.class,
      RailGetCommand.class,
      RailPutCommand.class,
      RailBenchCommand.class
    })
final class RailCommand implements Runnable {
  @Spec private CommandSpec spec;

  /** For the parser of arguments. */
  RailCommand() {}

  @Override
  public void run() {
    throw new ParameterException(
        spec.commandLine(), "a command is missing: serve, get, put or bench");
  }
}
