package org.metrale.tools;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Callable;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.rail.RailSpec;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** How fast a peer's memory is read or written. */
@Command(
    name = "bench",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Reads or writes a peer's memory over and over, and prints the columns of ib_read_bw and"
          + " ib_write_bw, or with --latency those of ib_read_lat. MB is 2^20 bytes.",
      "The rails share the transfers. A latency is from the call to its return, for writes too:"
          + " ib_write_lat gives half of a ping-pong instead."
    },
    footer = "Exit code 0, 1 if it did not work, 2 for wrong arguments.")
final class RailBenchCommand implements Callable<Integer> {
  private static final long MOST_BYTES = 1L << 30;
  private static final int MOST_ITERATIONS = 10_000_000;
  private static final int WARM_UP = 100;

  /** Which way the bytes go. */
  enum Operation {
    READ,
    WRITE
  }

  @Parameters(
      index = "0",
      paramLabel = "PEER",
      converter = RailAddress.Converter.class,
      description = "HOST:PORT, or rail://HOST:PORT/MODEL at a weight peer.")
  private RailAddress peer;

  @Option(
      names = "--op",
      paramLabel = "OP",
      defaultValue = "read",
      description = "read, or write to a peer that lets us (default: ${DEFAULT-VALUE}).")
  private Operation operation;

  @Option(
      names = "--size",
      paramLabel = "SIZE",
      split = ",",
      converter = SizeConverter.class,
      description = "Lengths of a transfer, up to 1G (default: 64K, with --latency 64).")
  private List<Long> sizes = List.of();

  @Option(
      names = "--iterations",
      paramLabel = "N",
      defaultValue = "1000",
      description = "How many transfers of each length (default: ${DEFAULT-VALUE}).")
  private int iterations;

  @Option(names = "--latency", description = "One transfer at a time.")
  private boolean latency;

  @Option(
      names = "--writable",
      description = "Read from a peer of `rail serve --writable`; --op write implies it.")
  private boolean writable;

  @Mixin private RailPeerOptions options;
  @Mixin private EmulatorOptions emulatorOptions;
  @Spec private CommandSpec spec;

  /** For the parser of arguments. */
  RailBenchCommand() {}

  @Override
  public Integer call() throws Exception {
    List<Long> lengths = sizes.isEmpty() ? List.of(latency ? 64L : 64L << 10) : sizes;
    check(lengths);
    long longest = lengths.stream().mapToLong(Long::longValue).max().orElseThrow();
    boolean writes = operation.equals(Operation.WRITE);
    RailSession.Service service =
        writes || writable ? new RailSession.Arena(longest) : new RailSession.Files(peer.model());
    AutoCloseable emulator = emulatorOptions.startIfWanted();
    long memoryBytes = Math.max(longest, RailBench.MOST_MEMORY_BYTES);
    try (RailSession session =
        RailSession.open(options.rails().open(), options.timeout(), peer, service, memoryBytes)) {
      if (service instanceof RailSession.Files files) {
        long there = files.manifest().shards().get(0).bytes();
        if (there < longest) {
          throw new ToolException(peer + " has " + there + " bytes, --size wants " + longest);
        }
      }
      run(session, new RailBench(session, writes, options.timeout()), lengths);
    } finally {
      emulator.close();
    }
    return 0;
  }

  private void check(List<Long> lengths) {
    String problem = options.problem();
    for (long bytes : lengths) {
      if (problem == null && (bytes < 1 || bytes > MOST_BYTES)) {
        problem = "--size " + bytes + ": expected 1 to " + MOST_BYTES;
      }
    }
    if (problem == null && (iterations < 1 || iterations > MOST_ITERATIONS)) {
      problem = "--iterations " + iterations + ": expected 1 to " + MOST_ITERATIONS;
    }
    if (problem != null) {
      throw new ParameterException(spec.commandLine(), problem);
    }
  }

  private void run(RailSession session, RailBench bench, List<Long> lengths)
      throws ToolException, InterruptedException {
    List<RailSpec> rails = session.rails().specs();
    int atOnce = rails.stream().mapToInt(RailSpec::depth).sum();
    PrintWriter out = spec.commandLine().getOut();
    if (!options.json()) {
      out.printf(
          "%s%s %s of %s on %d rails: %s (%s), %d at once%n",
          RailOptions.mark(),
          operation.name().toLowerCase(Locale.ROOT),
          latency ? "latency" : "bandwidth",
          peer,
          rails.size(),
          RailOptions.names(rails),
          RailOptions.level(rails),
          latency ? 1 : atOnce);
      out.println(latency ? LATENCY_TITLES : BANDWIDTH_TITLES);
      out.flush();
    }
    List<Object> results = new ArrayList<>();
    for (long bytes : lengths) {
      bench.latency(bytes, Math.min(WARM_UP, iterations));
      results.add(
          latency
              ? print(bench.latency(bytes, iterations))
              : print(bench.bandwidth(bytes, iterations, atOnce)));
    }
    if (options.json()) {
      Map<String, Object> line = new LinkedHashMap<>();
      line.put("command", "bench");
      line.put("emulated", NativeLibrary.IBVERBS.isEmulated());
      line.put("level", RailOptions.level(rails));
      line.put("peer", peer.toString());
      line.put("operation", operation.name().toLowerCase(Locale.ROOT));
      line.put("results", results);
      line.put("rails", session.railsToJson());
      out.println(Json.write(line));
    } else {
      out.printf("rails: %s%n", session.railsInWords());
      if (NativeLibrary.IBVERBS.isEmulated()) {
        out.println("EMULATED: speeds here say nothing about hardware");
      }
    }
    out.flush();
  }

  private static final String BANDWIDTH_TITLES =
      " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]";
  private static final String LATENCY_TITLES =
      " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]"
          + "    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] ";

  private Map<String, Object> print(RailBench.Bandwidth one) {
    if (!options.json()) {
      print(
          String.format(
              Locale.ROOT,
              " %-7d    %-10d       %-7.2f            %-7.2f              %-7.6f",
              one.bytes(),
              one.iterations(),
              one.peak(),
              one.average(),
              one.millionsPerSecond()));
    }
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("bytes", one.bytes());
    out.put("iterations", one.iterations());
    out.put("bw_peak_mib_per_second", one.peak() == 0 ? null : one.peak());
    out.put("bw_average_mib_per_second", one.average());
    out.put("message_rate_mpps", one.millionsPerSecond());
    return out;
  }

  private Map<String, Object> print(RailBench.Latency one) {
    if (!options.json()) {
      print(
          String.format(
              Locale.ROOT,
              " %-7d %-10d     %-7.2f        %-7.2f      %-7.2f            %-7.2f"
                  + "         %-7.2f         %-7.2f                 %-7.2f",
              one.bytes(),
              one.iterations(),
              one.least(),
              one.most(),
              one.typical(),
              one.average(),
              one.deviation(),
              one.percentile99(),
              one.percentile999()));
    }
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("bytes", one.bytes());
    out.put("iterations", one.iterations());
    out.put("t_min_usec", one.least());
    out.put("t_max_usec", one.most());
    out.put("t_typical_usec", one.typical());
    out.put("t_avg_usec", one.average());
    out.put("t_stdev_usec", one.deviation());
    out.put("percentile_99_usec", one.percentile99());
    out.put("percentile_99_9_usec", one.percentile999());
    return out;
  }

  private void print(String line) {
    spec.commandLine().getOut().println(line);
    spec.commandLine().getOut().flush();
  }
}
