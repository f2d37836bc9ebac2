package org.metrale.benchmarks;

import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.temporal.ChronoUnit;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cuda.CudaAttachment;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cufile.CuFileBuffer;
import org.metrale.gpu.cufile.CuFileDriver;
import org.metrale.gpu.cufile.CuFileHandle;
import org.metrale.gpu.cufile.CuFileMemory;
import org.metrale.gpu.cufile.CuFileOptions;
import org.metrale.gpu.cufile.CuFilePolicy;

/** Reads a file into device memory, size by size, and a large read split over threads. */
final class ReadsProbe {
  /** The file's length. */
  static final long BYTES = 64L << 20;

  /** Enough for perf to see something. */
  private static final int MANY = 25;

  private static final int[] SIZES = {4 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20};
  private static final long STEP = 4 << 20;

  /** The argument of a run by java.lang.foreign alone. */
  static final String OTHERS = "foreign";

  /** In a larger one the call itself is nothing. */
  private static final int LARGEST_OF_OTHERS = 1 << 20;

  private static int repeats = Setting.childPace().repeats();

  private ReadsProbe() {}

  @SuppressWarnings("try") // the attachment is there for the thread
  public static void main(String[] arguments) throws IOException {
    Path file = Path.of(arguments[0]);
    String wanted = arguments.length < 2 ? "" : arguments[1];
    boolean all = wanted.isEmpty();
    try (CudaContext context = CudaContext.openPrimary(0);
        DeviceMemory memory = DeviceMemory.allocate(context, BYTES)) {
      if (!all && !wanted.equals(OTHERS)) {
        try (CudaAttachment here = context.attach()) {
          smallest(wanted, file, memory);
        }
        return;
      }
      if (all) {
        // One thread and one piece: the call alone.
        read("unattached", "read-" + SIZES[0], file, memory, 1, BYTES);
      }
      // Once, as the loop in C.
      try (CudaAttachment here = context.attach()) {
        if (all) {
          checked(file, memory);
        }
        OtherReads.of(file, memory.buffer().address())
            .forEach(
                (subject, reader) -> {
                  if (all || subject.startsWith("ffm")) {
                    others(subject, reader);
                  }
                });
      }
    } catch (GpuException e) {
      System.err.println(e.getMessage());
      System.exit(3);
    }
  }

  /** The smallest read by one subject, for long. */
  private static void smallest(String subject, Path file, DeviceMemory memory) throws IOException {
    repeats = MANY;
    if (subject.equals("checked")) {
      read(subject, "read-" + SIZES[0], file, memory, 1, BYTES);
    } else {
      time(
          subject,
          "read-" + SIZES[0],
          OtherReads.of(file, memory.buffer().address()).get(subject),
          SIZES[0]);
    }
  }

  private static void checked(Path file, DeviceMemory memory) throws IOException {
    for (int size : SIZES) {
      read("checked", "read-" + size, file, memory, 1, BYTES);
    }
    for (int threads = 1; threads <= 4; threads *= 2) {
      read("checked", "split-" + threads, file, memory, threads, STEP);
    }
  }

  private static void others(String subject, OtherReads.Reader reader) {
    for (int size : SIZES) {
      if (size <= LARGEST_OF_OTHERS) {
        time(subject, "read-" + size, reader, size);
      }
    }
  }

  /** What reports call a work of the program in C. */
  static String name(String work) {
    int number = Integer.parseInt(work.replaceAll("\\D", ""));
    return work.startsWith("read-")
        ? "read of " + Report.bytes(number)
        : "64 MiB split over " + number + (number == 1 ? " thread" : " threads");
  }

  private static void read(
      String subject, String work, Path file, DeviceMemory memory, int threads, long step)
      throws IOException {
    int size =
        work.startsWith("split-") ? (int) BYTES : Integer.parseInt(work.replaceAll("\\D", ""));
    CuFileOptions usual = CuFileOptions.defaults().withThreads(threads, step);
    // In the caller's thread, as C's loop; a deadline costs a hand-over to another one.
    CuFileOptions options =
        usual.withTimeouts(usual.callTimeout(), ChronoUnit.FOREVER.getDuration());
    try (CuFileDriver driver = CuFileDriver.open(options);
        CuFileBuffer buffer = CuFileBuffer.register(driver, CuFileMemory.of(memory));
        CuFileHandle handle =
            CuFileHandle.open(driver, file, CuFilePolicy.ALLOW_COMPAT, StandardOpenOption.READ)) {
      driver
          .unavailabilityCause()
          .ifPresent(
              cause -> {
                throw cause;
              });
      time(subject, work, (at, bytes) -> handle.read(buffer, at, at, bytes).lengthBytes(), size);
    }
  }

  private static void time(String subject, String work, OtherReads.Reader reader, int size) {
    Setting.Pace pace = Setting.childPace();
    // Every page is touched once before anything is timed.
    perRead(reader, (int) BYTES, 0);
    long piece = 1_000_000L * pace.choose(1, 50, 100);
    // Long enough for small reads to be compiled.
    for (int i = 0; i < pace.choose(0, 2, 3); i++) {
      perRead(reader, size, piece);
    }
    double[] nanos = new double[repeats];
    for (int i = 0; i < nanos.length; i++) {
      nanos[i] = perRead(reader, size, piece);
    }
    Probe.say(name(work), subject, Level.of(NativeLibrary.CUFILE), "ns/op", nanos);
  }

  private static double perRead(OtherReads.Reader reader, int size, long nanos) {
    long begin = System.nanoTime();
    long at = 0;
    long count = 0;
    long took;
    do {
      for (int i = 0; i < Math.max(1, (1 << 20) / size); i++) {
        if (reader.read(at, size) != size) {
          throw new IllegalStateException("short read at " + at);
        }
        at = at + 2L * size <= BYTES ? at + size : 0;
        count++;
      }
      took = System.nanoTime() - begin;
    } while (took < nanos);
    return (double) took / count;
  }
}
