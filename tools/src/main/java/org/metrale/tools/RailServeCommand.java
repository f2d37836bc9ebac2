package org.metrale.tools;

import java.io.IOException;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.rail.AddressFilter;
import org.metrale.gpu.rail.MemoryLedger;
import org.metrale.gpu.rail.RailServer;
import org.metrale.gpu.rail.RailServerOptions;
import org.metrale.gpu.rail.RailSet;
import org.metrale.gpu.rail.RailSpec;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A peer for others: a file to read, or an arena to read and write. */
@Command(
    name = "serve",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Serves a file, or an arena of zeroes, to clients that read it by RDMA: those of this tool"
          + " and those of the weight service. With --writable they may also write, as those of the"
          + " cache service do without paging; all of them share the arena.",
      "Whoever reaches the port gets the keys to the memory: it is on loopback unless --bind says"
          + " otherwise. Ends on Ctrl-C."
    },
    footer = "Exit code 0, 1 if it did not work, 2 for wrong arguments.")
final class RailServeCommand implements Callable<Integer> {
  private static final long STEP_MILLIS = 50;

  /** What is served: exactly one of them. */
  private static final class Source {
    @Option(
        names = "--file",
        paramLabel = "FILE",
        required = true,
        description = "A file; it must not become shorter while it is served.")
    private Path file;

    @Option(
        names = "--arena",
        paramLabel = "SIZE",
        required = true,
        converter = SizeConverter.class,
        description = "So much memory, zeroed.")
    private Long arenaBytes;
  }

  @ArgGroup(exclusive = true, multiplicity = "1")
  private Source source;

  @Option(names = "--writable", description = "Clients may write to the arena.")
  private boolean writable;

  @Option(
      names = "--bind",
      paramLabel = "ADDRESS",
      description = "Where to listen (default: loopback).")
  private String bind;

  @Option(
      names = "--port",
      paramLabel = "PORT",
      defaultValue = "0",
      description = "The TCP port; 0 for any that is free (default: ${DEFAULT-VALUE}).")
  private int port;

  @Option(
      names = "--allow",
      paramLabel = "NETWORK",
      description =
          "Only clients of this address or network, for example 10.0.0.0/8; may be given several"
              + " times.")
  private List<String> allowed = List.of();

  @Option(
      names = "--connections",
      paramLabel = "N",
      defaultValue = "64",
      description = "How many clients at the same time (default: ${DEFAULT-VALUE}).")
  private int connections;

  @Option(
      names = "--no-checksum",
      description =
          "Do not read the file first for its CRC-32C; clients cannot compare theirs then.")
  private boolean noChecksum;

  @Option(names = "--once", description = "End when the first client that got rails has gone.")
  private boolean once;

  @Option(names = "--for", paramLabel = "SECONDS", description = "End after so long.")
  private Long seconds;

  @Option(names = "--json", description = "A line of JSON at the beginning and at the end.")
  private boolean json;

  @Mixin private RailOptions railOptions;
  @Mixin private EmulatorOptions emulatorOptions;
  @Spec private CommandSpec spec;

  /** For the parser of arguments. */
  RailServeCommand() {}

  @Override
  public Integer call() throws Exception {
    RailServerOptions options = check();
    // The server tells of clients that it refused through the JDK's logger: one line each.
    System.setProperty("java.util.logging.SimpleFormatter.format", "%1$tT %5$s%6$s%n");
    AutoCloseable emulator = emulatorOptions.startIfWanted();
    try (EndRequest end = EndRequest.listen()) {
      try {
        serve(options, end);
      } finally {
        emulator.close();
      }
      end.exitWith(0);
    }
    return 0;
  }

  private RailServerOptions check() throws IOException {
    String problem = railOptions.problem();
    if (problem == null) {
      problem = source.file == null ? arenaProblem() : fileProblem();
    }
    if (problem == null && (port < 0 || port > 0xFFFF)) {
      problem = "--port " + port + ": expected 0 to 65535";
    }
    if (problem == null && connections < 1) {
      problem = "--connections " + connections + ": expected at least 1";
    }
    if (problem == null && seconds != null && seconds < 1) {
      problem = "--for " + seconds + ": expected at least 1 second";
    }
    if (problem != null) {
      throw new ParameterException(spec.commandLine(), problem);
    }
    try {
      InetAddress address =
          bind == null ? InetAddress.getLoopbackAddress() : InetAddress.getByName(bind);
      AddressFilter filter =
          allowed.isEmpty()
              ? AddressFilter.anyone()
              : AddressFilter.only(allowed.toArray(String[]::new));
      RailServerOptions defaults = RailServerOptions.loopback();
      return defaults
          .at(new InetSocketAddress(address, port), filter)
          .withLimits(connections, defaults.handshakeTimeout(), MemoryLedger.of(0));
    } catch (UnknownHostException e) {
      throw new ParameterException(
          spec.commandLine(), "--bind " + bind + ": there is no such address", e);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), "--allow: " + e.getMessage(), e);
    }
  }

  private String arenaProblem() {
    return source.arenaBytes < 1
        ? "--arena " + source.arenaBytes + ": expected at least 1 byte"
        : null;
  }

  private String fileProblem() throws IOException {
    if (writable) {
      return "--writable is for --arena: files are only read";
    }
    if (!Files.exists(source.file)) {
      return source.file + " does not exist";
    }
    if (!Files.isRegularFile(source.file) || !Files.isReadable(source.file)) {
      return source.file + " is not a regular file that can be read";
    }
    return Files.size(source.file) == 0
        ? source.file + " is empty: there is nothing to serve"
        : null;
  }

  private void serve(RailServerOptions options, EndRequest end)
      throws ToolException, InterruptedException {
    try (RailSet rails = railOptions.open();
        RailServed served = served(rails);
        RailServer server = RailServer.start(rails, served.service(), options)) {
      long started = System.nanoTime();
      begin(rails.specs(), served, server);
      boolean goOn = true;
      while (goOn) {
        goOn =
            !end.await(STEP_MILLIS)
                && !(once && server.connectedSoFar() > 0 && server.clients() == 0)
                && !(seconds != null && System.nanoTime() - started > seconds * 1_000_000_000L);
      }
      finish(server, served.refusedSoFar(), System.nanoTime() - started);
    } catch (IOException e) {
      throw new ToolException(
          RailAddress.text(options.address()) + " cannot be listened on: " + Messages.brief(e), e);
    }
  }

  @SuppressWarnings("MustBeClosed") // the caller closes it
  private RailServed served(RailSet rails) throws ToolException {
    return source.file == null
        ? RailServed.arena(rails, source.arenaBytes, writable)
        : RailServed.file(rails, source.file, !noChecksum);
  }

  private void begin(List<RailSpec> rails, RailServed served, RailServer server) {
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      Map<String, Object> line = new LinkedHashMap<>();
      line.put("event", "serving");
      line.put("emulated", NativeLibrary.IBVERBS.isEmulated());
      line.put("level", RailOptions.level(rails));
      line.put("host", server.address().getAddress().getHostAddress());
      line.put("port", server.address().getPort());
      line.put("serves", served.title());
      line.put("bytes", served.bytes());
      line.put("writable", served.isWritable());
      line.put("rails", rails.stream().map(RailSpec::device).toList());
      out.println(Json.write(line));
    } else {
      out.printf(
          "%sserving %s (%s, %s) at %s on %d rails: %s (%s)%n",
          RailOptions.mark(),
          served.title(),
          Quantities.bytes(served.bytes()),
          served.isWritable() ? "to read and write" : "read-only",
          RailAddress.text(server.address()),
          rails.size(),
          RailOptions.names(rails),
          RailOptions.level(rails));
    }
    out.flush();
  }

  private void finish(RailServer server, long refusedByService, long nanos) {
    long refused = refusedByService + server.refusedSoFar();
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      Map<String, Object> line = new LinkedHashMap<>();
      line.put("event", "ended");
      line.put("emulated", NativeLibrary.IBVERBS.isEmulated());
      line.put("nanoseconds", nanos);
      line.put("connected", server.connectedSoFar());
      line.put("failed", server.failedSoFar());
      line.put("refused", refused);
      out.println(Json.write(line));
    } else {
      out.printf(
          "%sended after %s: %d connections with rails, %d that came to nothing, %d refused%n",
          RailOptions.mark(),
          Quantities.nanos(nanos),
          server.connectedSoFar(),
          server.failedSoFar(),
          refused);
    }
    out.flush();
  }
}
