package org.metrale.tools;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.metrale.gpu.nvml.Nvml;
import org.metrale.gpu.nvml.NvmlOptions;
import picocli.CommandLine;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** A live table of GPUs. */
@Command(
    name = "top",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Shows what the GPUs do: how busy, memory, power, clocks, temperature, NVLink, processes.",
      "What a GPU does not tell is 'absent', what this user may not read 'denied', what could not"
          + " be read 'failed' with NVML's code; none of them is ever 0."
    },
    footer = "Exit code 0, 1 if NVML cannot be used, 2 for wrong arguments.")
final class TopCommand implements Callable<Integer> {
  private static final String CLEAR_SCREEN = "\033[H\033[J";
  private static final double SHORTEST_SECONDS = 0.05;
  private static final int LONGEST_SECONDS = 86_400;
  private static final long STOP_SECONDS = 5;

  /** For one call of NVML; a GPU that takes longer has failed in this sample. */
  private static final Duration PATIENCE = Duration.ofSeconds(2);

  /** How samples are written; one way at a time. */
  static final class Format {
    @Option(names = "--json", description = "A line of JSON a sample.")
    private boolean json;

    @Option(names = "--csv", description = "Comma-separated values, a line a GPU and sample.")
    private boolean csv;

    /** For the parser of arguments. */
    Format() {}
  }

  @ArgGroup private Format format = new Format();

  @Option(names = "--once", description = "One sample, then end.")
  private boolean once;

  @Option(
      names = "--interval",
      paramLabel = "SECONDS",
      defaultValue = "1",
      description = "From one sample to the next (default: ${DEFAULT-VALUE}).")
  private double intervalSeconds;

  @Option(names = "--count", paramLabel = "N", description = "End after N samples.")
  private Integer count;

  @Option(
      names = "--record",
      paramLabel = "FILE",
      description = "Also append samples to FILE, as CSV.")
  private Path record;

  @Option(
      names = "--plot",
      paramLabel = "FILE.png",
      description = "Draw the run when it ends (also by Ctrl-C), or the recorded one of --from.")
  private Path plot;

  @Option(
      names = "--from",
      paramLabel = "FILE",
      description = "With --plot: a recorded run; no sampling.")
  private Path from;

  @Mixin private EmulatorOptions emulatorOptions;
  @Spec private CommandSpec spec;

  private final CountDownLatch stop = new CountDownLatch(1);
  private final CountDownLatch stopped = new CountDownLatch(1);
  private final List<TopCsv.Line> run = new ArrayList<>();

  /** For the parser of arguments. */
  TopCommand() {}

  @Override
  public Integer call() throws Exception {
    check();
    if (from != null) {
      draw(recorded());
      return 0;
    }
    Thread hook = new Thread(this::stopInTime, "top-stop");
    Runtime.getRuntime().addShutdownHook(hook);
    AutoCloseable emulator = emulatorOptions.startIfWanted();
    try (Nvml session = Nvml.open(NvmlOptions.defaults().withCallTimeout(PATIENCE))) {
      sampleAll(session);
      if (plot != null) {
        draw(run);
      }
      return 0;
    } finally {
      emulator.close();
      stopped.countDown();
      removeHook(hook);
    }
  }

  private List<TopCsv.Line> recorded() throws ToolException {
    try {
      return TopCsv.read(from);
    } catch (IOException e) {
      throw new ToolException("--from " + from + " cannot be read: " + Messages.io(e), e);
    }
  }

  private void draw(List<TopCsv.Line> lines) throws ToolException {
    try {
      TopChart.write(lines, plot);
    } catch (IOException e) {
      throw new ToolException("--plot " + plot + " cannot be written: " + Messages.io(e), e);
    }
  }

  private void check() {
    if (!(intervalSeconds >= SHORTEST_SECONDS && intervalSeconds <= LONGEST_SECONDS)) {
      throw wrong(
          String.format(
              Locale.ROOT,
              "--interval %s: expected %s to %s seconds",
              intervalSeconds,
              SHORTEST_SECONDS,
              LONGEST_SECONDS));
    }
    if (count != null && count < 1) {
      throw wrong("--count " + count + ": expected at least 1");
    }
    if (from != null && plot == null) {
      throw wrong("--from is for --plot");
    }
    if (from != null && !Files.isReadable(from)) {
      throw wrong("--from " + from + ": there is no such file that can be read");
    }
    if (plot != null && !plot.toString().endsWith(".png")) {
      throw wrong("--plot " + plot + ": expected a name that ends in .png");
    }
    requireWritable("--plot", plot);
    requireWritable("--record", record);
  }

  /** Known before a run that may take long, not after it. */
  private void requireWritable(String option, Path file) {
    if (file == null) {
      return;
    }
    if (Files.isDirectory(file)) {
      throw wrong(option + " " + file + ": that is a folder");
    }
    if (!Files.isDirectory(file.toAbsolutePath().getParent())) {
      throw wrong(option + " " + file + ": there is no such folder");
    }
    boolean isNew = Files.notExists(file);
    if (isNew || Files.isRegularFile(file)) {
      tryToWrite(option, file, isNew);
    }
  }

  /** Leaves everything as it was. */
  private void tryToWrite(String option, Path file, boolean isNew) {
    try {
      FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND).close();
      if (isNew) {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw wrong(option + " " + file + " cannot be written: " + Messages.io(e));
    }
  }

  private ParameterException wrong(String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  private void sampleAll(Nvml session) throws InterruptedException, ToolException {
    long most = once ? 1 : count == null ? Long.MAX_VALUE : count;
    long periodNanos = (long) (intervalSeconds * 1e9);
    long next = System.nanoTime();
    for (long i = 0; i < most; i++) {
      TopSample sample = TopSample.read(session);
      show(sample, i == 0, most == 1);
      keep(sample);
      if (!isRead()) {
        return;
      }
      next = after(next, System.nanoTime(), periodNanos);
      if (i + 1 < most && stop.await(next - System.nanoTime(), TimeUnit.NANOSECONDS)) {
        return;
      }
    }
  }

  /** Whether anybody still takes what is written, or has closed the pipe. */
  private boolean isRead() {
    return !spec.commandLine().getOut().checkError() && !System.out.checkError();
  }

  /** Start to start; after a sample that came late a whole period, as the sampler does it. */
  static long after(long start, long now, long periodNanos) {
    return start + periodNanos - now >= 0 ? start + periodNanos : now + periodNanos;
  }

  private void show(TopSample sample, boolean first, boolean only) {
    PrintWriter out = spec.commandLine().getOut();
    if (format.json) {
      out.println(sample.toJson());
    } else if (format.csv) {
      if (first) {
        out.println(TopCsv.header());
      }
      TopCsv.lines(sample).forEach(out::println);
    } else {
      if (!only && CommandLine.Help.Ansi.AUTO.enabled()) {
        out.print(CLEAR_SCREEN);
      }
      TopTable.lines(sample).forEach(out::println);
      out.println();
    }
    out.flush();
  }

  private void keep(TopSample sample) throws ToolException {
    if (plot != null) {
      run.addAll(TopCsv.parse(sample));
    }
    if (record != null) {
      try {
        append(sample);
      } catch (IOException e) {
        throw new ToolException("--record " + record + " cannot be written: " + Messages.io(e), e);
      }
    }
  }

  private void append(TopSample sample) throws IOException {
    List<String> lines = new ArrayList<>();
    if (Files.notExists(record) || Files.size(record) == 0) {
      lines.add(TopCsv.header());
    }
    lines.addAll(TopCsv.lines(sample));
    Files.write(
        record,
        lines,
        StandardCharsets.UTF_8,
        StandardOpenOption.CREATE,
        StandardOpenOption.APPEND);
  }

  /** Ctrl-C ends the sampling; the process waits for the chart. */
  private void stopInTime() {
    stop.countDown();
    try {
      stopped.await(STOP_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void removeHook(Thread hook) {
    try {
      Runtime.getRuntime().removeShutdownHook(hook);
    } catch (IllegalStateException e) {
      // the process is ending already, which is what the hook is for
    }
  }
}
