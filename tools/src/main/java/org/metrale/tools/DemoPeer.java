package org.metrale.tools;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.metrale.gpu.nccl.NcclFlightRecord;

/** The demo's second process, seen from the first. */
final class DemoPeer implements AutoCloseable {
  private final Process process;
  private final int rank;

  /** What its ranks found wrong, an entry an operation; guarded by this. */
  private final List<String> problems = new ArrayList<>();

  private boolean said;
  private NcclFlightRecord record;

  private DemoPeer(Process process, int rank) {
    this.process = process;
    this.rank = rank;
  }

  static DemoPeer start(DemoPlan plan, int rank, int ranks) throws ToolException {
    List<String> arguments = new ArrayList<>();
    arguments.add("demo-rank");
    arguments.add("--rank=" + rank);
    arguments.add("--ranks=" + ranks);
    arguments.addAll(plan.arguments());
    DemoPeer out = new DemoPeer(ChildJvm.start(arguments), rank);
    Thread reader = new Thread(out::read, "demo-peer-reader");
    reader.setDaemon(true);
    reader.start();
    return out;
  }

  private void read() {
    try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
      String line;
      while ((line = lines.readLine()) != null) {
        take(line);
      }
    } catch (IOException e) {
      // it was killed; what it said is known
    }
    synchronized (this) {
      notifyAll();
    }
  }

  private synchronized void take(String line) {
    if (line.equals("hello")) {
      said = true;
    } else if (line.startsWith("result ")) {
      problems.add(line.substring("result ".length()));
    } else if (line.startsWith("record ")) {
      byte[] text = Base64.getDecoder().decode(line.substring("record ".length()));
      record = NcclFlightRecord.parse(new String(text, StandardCharsets.UTF_8));
    }
    notifyAll();
  }

  /** Waits until it runs, then tells it where to find the others. */
  void meetAt(int port, String secret, Duration timeout)
      throws ToolException, InterruptedException {
    await(timeout, () -> said, "did not start");
    try {
      // Stays open: its end tells the process that this one is gone.
      Writer out = process.outputWriter(StandardCharsets.UTF_8);
      out.write(port + " " + secret + "\n");
      out.flush();
    } catch (IOException e) {
      throw new ToolException("the process of rank " + rank + " cannot be told anything", e);
    }
  }

  /** What it found, an entry an operation, once there are that many. */
  List<String> problems(int count, Duration timeout) throws ToolException, InterruptedException {
    await(timeout, () -> problems.size() >= count, "did not report its results");
    synchronized (this) {
      return List.copyOf(problems);
    }
  }

  private synchronized void await(Duration timeout, BooleanSupplier done, String otherwise)
      throws ToolException, InterruptedException {
    long end = System.nanoTime() + timeout.toNanos();
    while (!done.getAsBoolean()) {
      long left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
      if (left <= 0 || !process.isAlive()) {
        String state = process.isAlive() ? "runs" : "ended with " + process.exitValue();
        throw new ToolException(
            "process " + process.pid() + " of rank " + rank + " " + otherwise + "; it " + state);
      }
      wait(Math.min(left, 100));
    }
  }

  long pid() {
    return process.pid();
  }

  int rank() {
    return rank;
  }

  /** Waits until it says that it has done an operation. */
  void awaitReport(long sequence, Duration timeout) throws ToolException, InterruptedException {
    await(
        timeout,
        () -> record != null && record.lastCompleted() >= sequence,
        "did not report operation " + sequence);
  }

  /** What it last reported to have done. */
  synchronized Optional<NcclFlightRecord> lastRecord() {
    return Optional.ofNullable(record);
  }

  /** Kills the process, as the operating system's out-of-memory killer would. */
  void kill() {
    process.destroyForcibly();
  }

  /** How it ended, once it has. */
  Optional<Integer> exitCode(Duration timeout) throws InterruptedException {
    return process.waitFor(timeout.toMillis(), TimeUnit.MILLISECONDS)
        ? Optional.of(process.exitValue())
        : Optional.empty();
  }

  @Override
  public void close() {
    process.destroyForcibly();
    try {
      process.getOutputStream().close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
