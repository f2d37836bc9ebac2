package org.metrale.gpu.cufile;

import static org.metrale.gpu.cufile.CuFileScenario.say;

import java.nio.file.Path;
import java.time.Duration;
import java.util.function.Supplier;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cufile.CuFileScenario.Setting;

/** What forked JVMs run while something goes wrong; prints {@code KEY=VALUE} lines. */
public final class CuFileTroubleScenario {
  static final Duration SHORT = Duration.ofMillis(200);
  static final Duration LONG = Duration.ofSeconds(20);

  private CuFileTroubleScenario() {}

  /** Nothing is closed where a call hangs: the process must end all the same. */
  public static void main(String[] arguments) throws Exception {
    Path file = Path.of(arguments[1]);
    CuFileOptions options = CuFileOptions.defaults().withThreads(3, 256 << 10);
    switch (arguments[0]) {
      case "stale" -> with(options, file, CuFileTroubleScenario::stale);
      case "files" -> with(options, file, CuFileTroubleScenario::files);
      case "ragged" -> with(options, file, CuFileTroubleScenario::ragged);
      default -> throw new IllegalArgumentException(arguments[0]);
    }
    say("ended", true);
  }

  static void with(CuFileOptions options, Path file, CuFileScenario.Scenario scenario)
      throws Exception {
    try (CuFileDriver driver = CuFileDriver.open(options)) {
      CuFileScenario.onDevice(driver, file, scenario);
    } catch (IllegalStateException e) {
      say("notClosed", e.getMessage());
    }
  }

  interface Call {
    Object call() throws Exception;
  }

  /** What a call threw. */
  static Exception thrown(Call call) {
    try {
      throw new AssertionError("answered " + call.call());
    } catch (Exception e) {
      return e;
    }
  }

  static void tell(String key, Exception problem) {
    say(key, problem.getClass().getSimpleName() + " " + problem.getMessage());
    if (problem instanceof CuFileException e) {
      say(key + "Unfinished", e.isUnfinished());
      say(key + "Cuda", e.cudaCode().orElse(-1));
    }
  }

  static Object close(AutoCloseable resource) throws Exception {
    resource.close();
    return "closed";
  }

  static void closeLater(NativeResource resource) {
    retry(
        () -> {
          resource.close();
          return resource.isClosed();
        });
  }

  /** Until it is not refused any more, for a while. */
  static <T> T retry(Supplier<T> call) {
    long deadline = System.nanoTime() + LONG.toNanos();
    while (true) {
      try {
        return call.get();
      } catch (IllegalStateException e) {
        if (System.nanoTime() - deadline > 0) {
          throw e;
        }
        Thread.onSpinWait();
      }
    }
  }

  /** A context that CUDA does not know: the call must not go to whatever device is current. */
  private static void stale(Setting setting) {
    long wrong = 0x1230;
    CuFileSpan span =
        new CuFileSpan(
            wrong, setting.handle().handle(), CuFileMemory.of(setting.memory()).address());
    tell(
        "read",
        CuFileException.ofNegative(
            "cuFileRead", CuFileCalls.cuFileRead(span, 4096, 0, 0), CuFileException.Where.NOWHERE));
    tell(
        "write",
        CuFileException.ofNegative(
            "cuFileWrite",
            CuFileCalls.cuFileWrite(span, 4096, 0, 0),
            CuFileException.Where.NOWHERE));
    tell(
        "register",
        thrown(
            () -> {
              CuFileCalls.cuFileBufRegister(wrong, span.base(), 4096);
              return "registered";
            }));
    tell(
        "submit",
        thrown(
            () -> {
              CuFileCalls.cuFileBatchIOSubmit(wrong, 1, 1, span.base());
              return "submitted";
            }));
  }

  private static void ragged(Setting setting) throws Exception {
    setting.driver().startStatistics(3);
    // 4096 - 100 bytes before the first step, 2 whole ones, 77 after them.
    int from = 4096 + 100;
    int length = 3 * 4096 - 100 + 77;
    CuFileTransfer read = setting.handle().read(setting.buffer(), 100, from, length);
    say("read", read);
    say("readRight", CuFileScenario.same(setting, 100, from, length));
    CuFileStatistics counted = setting.driver().statistics();
    say("readByCuFile", counted.readBytes());
    say("gdsReads", counted.devices().get(0).gdsReads());
    say("posixReads", counted.devices().get(0).posixReads());
    say("write", setting.handle().write(setting.buffer(), 100, from, length));
    say("writeByCuFile", setting.driver().statistics().writeBytes());
    say("apart", setting.handle().read(setting.buffer(), 101, from, length));
    say("end", setting.handle().read(setting.buffer(), 4096, CuFileScenario.SIZE - 5000, 9999));
    say("small", setting.handle().read(setting.buffer(), 5, 5, 50));
    setting.driver().stopStatistics();
  }

  /** A file that may only be read, and one that becomes shorter under its reader. */
  private static void files(Setting setting) throws Exception {
    Path path = Path.of(setting.handle().file().path());
    try (CuFileHandle reader =
        CuFileHandle.open(setting.driver(), path, CuFilePolicy.ALLOW_COMPAT)) {
      say("way", reader.route());
      tell("aligned", thrown(() -> reader.write(setting.buffer(), 0, 4096, 8192)));
      tell("ragged", thrown(() -> reader.write(setting.buffer(), 100, 4096 + 100, 8192)));
      try (java.nio.channels.FileChannel other =
          java.nio.channels.FileChannel.open(path, java.nio.file.StandardOpenOption.WRITE)) {
        other.truncate(10_000);
      }
      say("short", reader.read(setting.buffer(), 0, 4096, 1 << 20).lengthBytes());
      say("shared", reader.read(setting.buffer(), 0, 0, 1 << 20).lengthBytes());
      say("beyond", reader.read(setting.buffer(), 0, 20_480, 4096).lengthBytes());
      say("right", CuFileScenario.same(setting, 0, 0, 10_000));
    }
  }
}
