package org.metrale.tools;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.DelegatingProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cufile.CuFileDriver;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Whether GPUDirect Storage works for a file, and whether it is worth it. */
@Command(
    name = "gds",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Reads a file sequentially and at random, by cuFile, by the file system's calls past the page"
          + " cache (O_DIRECT), and through it; into a GPU's memory, or the host's where there is"
          + " no GPU. Says why GPUDirect Storage is off, and which way to use.",
      "Every way's first and last block are compared with what a plain program reads; the page"
          + " cache is dropped before each measurement where that can be done."
    },
    footer = "Exit code 0, 1 if nothing could be measured, 2 for wrong arguments.")
final class GdsCommand implements Callable<Integer> {
  private static final int BAR_WIDTH = 78;
  private static final int BAR_MILLIS = 200;
  private static final long MOST_BLOCK_BYTES = 1L << 30;
  private static final int PIECE = 1 << 20;
  private static final byte FILLING = (byte) 0xA5;

  @Parameters(index = "0", paramLabel = "FILE", description = "The file to read; never written.")
  private Path file;

  @Option(
      names = "--create",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      description = "Make FILE first, of this size; it must not exist.")
  private Long createBytes;

  @Option(
      names = "--block",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      defaultValue = "4M",
      description = "A sequential read (default: ${DEFAULT-VALUE}).")
  private long blockBytes;

  @Option(
      names = "--most",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      defaultValue = "256M",
      description = "How much is read sequentially at most (default: ${DEFAULT-VALUE}).")
  private long mostBytes;

  @Option(
      names = "--random-block",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      defaultValue = "64K",
      description = "A random read (default: ${DEFAULT-VALUE}).")
  private long randomBlockBytes;

  @Option(
      names = "--random-reads",
      paramLabel = "N",
      defaultValue = "1024",
      description = "How many random reads (default: ${DEFAULT-VALUE}).")
  private int randomReads;

  @Option(
      names = "--gpu",
      paramLabel = "ORDINAL",
      defaultValue = "0",
      description = "CUDA's number of the GPU (default: ${DEFAULT-VALUE}).")
  private int cudaOrdinal;

  @Option(names = "--json", description = "The result as a line of JSON instead of tables.")
  private boolean json;

  @Mixin private EmulatorOptions emulatorOptions;
  @Spec private CommandSpec spec;

  /** For the parser of arguments. */
  GdsCommand() {}

  @Override
  public Integer call() throws Exception {
    check();
    if (createBytes != null) {
      create();
    }
    AutoCloseable emulator = emulatorOptions.startIfWanted();
    try (GdsTarget target = GdsTarget.open(cudaOrdinal, Math.max(blockBytes, randomBlockBytes));
        CuFileDriver driver = CuFileDriver.open()) {
      return run(target, driver);
    } finally {
      emulator.close();
    }
  }

  private void check() throws IOException {
    requireWithin("--block", blockBytes, MOST_BLOCK_BYTES);
    requireWithin("--random-block", randomBlockBytes, MOST_BLOCK_BYTES);
    requireWithin("--most", mostBytes, Long.MAX_VALUE / 2);
    requireWithin("--random-reads", randomReads, 1 << 24);
    if (cudaOrdinal < 0) {
      throw wrong("--gpu " + cudaOrdinal + ": expected 0 or more");
    }
    if (mostBytes / blockBytes > 1 << 24) {
      throw wrong("--most " + mostBytes + " has too many reads of --block " + blockBytes);
    }
    if (createBytes != null) {
      requireWithin("--create", createBytes, Long.MAX_VALUE);
      if (Files.exists(file)) {
        throw wrong(file + " exists already: --create makes a new file");
      }
      return;
    }
    if (!Files.exists(file)) {
      throw wrong(file + " does not exist; --create SIZE makes it");
    }
    if (!Files.isRegularFile(file) || !Files.isReadable(file)) {
      throw wrong(file + " is not a regular file that can be read");
    }
    if (Files.size(file) == 0) {
      throw wrong(file + " is empty: there is nothing to read");
    }
  }

  private void requireWithin(String option, long value, long most) {
    if (value < 1 || value > most) {
      throw wrong(option + " " + value + ": expected 1 to " + most);
    }
  }

  private ParameterException wrong(String message) {
    return new ParameterException(spec.commandLine(), message);
  }

  private void create() throws ToolException {
    try (FileChannel out =
        FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      try {
        fill(out);
      } catch (IOException e) {
        Files.delete(file); // half a file would be measured as if it were whole
        throw e;
      }
    } catch (IOException e) {
      throw new ToolException(file + " cannot be made: " + Messages.io(e), e);
    }
  }

  private void fill(FileChannel out) throws IOException {
    byte[] piece = new byte[PIECE];
    Arrays.fill(piece, FILLING);
    long left = createBytes;
    for (long number = 0; left > 0; number++) {
      ByteBuffer next = ByteBuffer.wrap(piece);
      // So that a block in the wrong place is noticed.
      next.putLong(0, number);
      next.limit((int) Math.min(PIECE, left));
      while (next.hasRemaining()) {
        left -= out.write(next);
      }
    }
    out.force(true);
  }

  private int run(GdsTarget target, CuFileDriver driver) throws IOException, InterruptedException {
    long bytes = Files.size(file);
    List<GdsPattern> patterns =
        List.of(
            GdsPattern.sequential(bytes, blockBytes, mostBytes),
            GdsPattern.random(bytes, randomBlockBytes, randomReads));
    Map<GdsPattern, List<GdsResult>> results = new LinkedHashMap<>();
    try (ProgressBar bar = bar(patterns)) {
      GdsBench bench = new GdsBench(file, bytes, driver, target, bar::step);
      bar.maxHint(bar.getMax() * bench.ways());
      for (GdsPattern pattern : patterns) {
        bar.setExtraMessage(pattern.title());
        results.put(pattern, bench.run(pattern));
      }
      bar.stepTo(bar.getMax()); // what ways that are not to be had would have read
    }
    GdsReport report =
        new GdsReport(
            bytes, isEmulated(), target.title(), target.noGpu(), driver.status(file), results);
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      out.println(Json.write(report.toJson()));
    } else {
      report.print(out);
    }
    out.flush();
    return report.isAnyMeasured() ? 0 : 1;
  }

  private static ProgressBar bar(List<GdsPattern> patterns) {
    return new ProgressBarBuilder()
        .setConsumer(
            Progress.isTerminal()
                ? new ConsoleProgressBarConsumer(System.err, BAR_WIDTH)
                : new DelegatingProgressBarConsumer(unseen -> {}))
        .setStyle(ProgressBarStyle.ASCII)
        .setUpdateIntervalMillis(BAR_MILLIS)
        .setInitialMax(patterns.stream().mapToLong(p -> p.offsets().length).sum())
        .setTaskName("reads")
        .build();
  }

  private static boolean isEmulated() {
    return NativeLibrary.CUFILE.isEmulated() || NativeLibrary.CUDA.isEmulated();
  }
}
