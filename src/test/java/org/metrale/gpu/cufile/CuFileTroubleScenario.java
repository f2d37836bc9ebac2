package org.metrale.gpu.cufile;

import static org.metrale.gpu.cufile.CuFileScenario.say;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cufile.CuFileScenario.Setting;

/** What forked JVMs run while something goes wrong; prints {@code KEY=VALUE} lines. */
public final class CuFileTroubleScenario {
  private static final Duration SHORT = Duration.ofMillis(200);
  private static final Duration LONG = Duration.ofSeconds(20);

  private CuFileTroubleScenario() {}

  /** Nothing is closed where a call hangs: the process must end all the same. */
  public static void main(String[] arguments) throws Exception {
    Path file = Path.of(arguments[1]);
    CuFileOptions options = CuFileOptions.defaults().withThreads(3, 256 << 10);
    switch (arguments[0]) {
      case "closeHang" -> closeHang(options);
      case "hang" -> with(options.withTimeouts(LONG, SHORT), file, CuFileTroubleScenario::hang);
      case "openHang" -> openHang(options.withTimeouts(SHORT, LONG), file);
      case "forever" ->
          with(
              options.withTimeouts(LONG, java.time.temporal.ChronoUnit.FOREVER.getDuration()),
              file,
              CuFileTroubleScenario::forever);
      case "late" -> with(options, file, CuFileTroubleScenario::late);
      case "interrupt" -> with(options, file, CuFileTroubleScenario::interrupt);
      case "stale" -> with(options, file, CuFileTroubleScenario::stale);
      case "files" -> with(options, file, CuFileTroubleScenario::files);
      case "ragged" -> with(options, file, CuFileTroubleScenario::ragged);
      case "contexts" -> with(options, file, CuFileTroubleScenario::contexts);
      case "pollInterrupted" -> with(options, file, CuFileTroubleScenario::pollInterrupted);
      case "pollHang" -> with(options, file, CuFileTroubleScenario::pollHang);
      case "submitHang" ->
          with(options.withTimeouts(LONG, SHORT), file, CuFileTroubleScenario::submitHang);
      case "asyncHang" ->
          with(options.withTimeouts(LONG, SHORT), file, CuFileTroubleScenario::asyncHang);
      case "asyncLate" ->
          with(options.withTimeouts(LONG, SHORT), file, CuFileTroubleScenario::asyncLate);
      case "submitApart" ->
          with(options.withTimeouts(LONG, SHORT), file, CuFileTroubleScenario::submitApart);
      case "submitLate" ->
          with(options.withTimeouts(LONG, SHORT), file, CuFileTroubleScenario::submitLate);
      case "batchBroken" -> with(options, file, CuFileTroubleScenario::batchBroken);
      default -> throw new IllegalArgumentException(arguments[0]);
    }
    say("ended", true);
  }

  private static void with(CuFileOptions options, Path file, CuFileScenario.Scenario scenario)
      throws Exception {
    try (CuFileDriver driver = CuFileDriver.open(options)) {
      CuFileScenario.onDevice(driver, file, scenario);
    } catch (IllegalStateException e) {
      say("notClosed", e.getMessage());
    }
  }

  private interface Call {
    Object call() throws Exception;
  }

  /** What a call threw. */
  private static Exception thrown(Call call) {
    try {
      throw new AssertionError("answered " + call.call());
    } catch (Exception e) {
      return e;
    }
  }

  private static void tell(String key, Exception problem) {
    say(key, problem.getClass().getSimpleName() + " " + problem.getMessage());
    if (problem instanceof CuFileException e) {
      say(key + "Unfinished", e.isUnfinished());
      say(key + "Cuda", e.cudaCode().orElse(-1));
    }
  }

  private static void tell(CuFileBatch.Event event) {
    say(
        "event",
        event.request().fileOffsetBytes()
            + " "
            + event.status().symbol()
            + " "
            + event.problem().map(GpuException::getMessage).orElse(""));
  }

  private static void hang(Setting setting) {
    long begin = System.nanoTime();
    tell("timed", thrown(() -> setting.handle().read(setting.buffer(), 0, 0, 4096, SHORT)));
    tell("usual", thrown(() -> setting.handle().read(setting.buffer(), 0, 0, 4096)));
    tell("plain", thrown(() -> setting.handle().read(CuFileMemory.of(setting.memory()), 0)));
    say("quick", System.nanoTime() - begin < LONG.toNanos());
    tell("close", thrown(() -> close(setting.handle())));
    tell("closeBuffer", thrown(() -> close(setting.buffer())));
    tell("closeMemory", thrown(() -> close(setting.memory())));
  }

  private static Object close(AutoCloseable resource) throws Exception {
    resource.close();
    return "closed";
  }

  /** Whether the caller's own thread is inside cuFile. */
  private static void forever(Setting setting) throws Exception {
    Thread caller = Thread.currentThread();
    java.util.concurrent.atomic.AtomicBoolean inside =
        new java.util.concurrent.atomic.AtomicBoolean();
    java.util.concurrent.atomic.AtomicBoolean over =
        new java.util.concurrent.atomic.AtomicBoolean();
    Thread looking =
        new Thread(
            () -> {
              while (!over.get() && !inside.get()) {
                for (StackTraceElement frame : caller.getStackTrace()) {
                  inside.compareAndSet(false, frame.getMethodName().equals("metrale_cufile_read"));
                }
              }
            });
    looking.start();
    say("bytes", setting.handle().read(setting.buffer(), 0, 0, 4096).lengthBytes());
    over.set(true);
    looking.join();
    say("inside", inside.get());
  }

  /** A call that comes back after all. */
  private static void late(Setting setting) throws Exception {
    tell("first", thrown(() -> setting.handle().read(setting.buffer(), 0, 0, 4096, SHORT)));
    tell("close", thrown(() -> close(setting.handle())));
    say("second", setting.handle().read(setting.buffer(), 0, 0, 4096).lengthBytes());
    closeLater(setting.buffer());
    say("closedLater", true);
  }

  private static void closeLater(NativeResource resource) {
    retry(
        () -> {
          resource.close();
          return resource.isClosed();
        });
  }

  /** Until it is not refused any more, for a while. */
  private static <T> T retry(Supplier<T> call) {
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

  private static void interrupt(Setting setting) {
    Thread.currentThread().interrupt();
    tell("timed", thrown(() -> setting.handle().read(setting.buffer(), 0, 0, 4096, LONG)));
    say("flagAfterTimed", Thread.interrupted());
    Thread.currentThread().interrupt();
    say("usual", setting.handle().read(setting.buffer(), 0, 0, 4096).lengthBytes());
    say("flagAfterUsual", Thread.interrupted());
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

  private static void contexts(Setting setting) throws Exception {
    setting.driver().startStatistics(1);
    try (CudaContext other = CudaContext.openPrimary(1);
        DeviceMemory memory = DeviceMemory.allocate(other, 8192);
        CuFileBuffer there = CuFileBuffer.register(setting.driver(), CuFileMemory.of(memory));
        CuFileBatch batch = CuFileBatch.create(setting.driver(), 8)) {
      batch.submit(
          List.of(
              new CuFileBatch.Request(setting.handle(), false, setting.buffer(), 0, 0, 4096),
              new CuFileBatch.Request(setting.handle(), false, there, 0, 4096, 4096),
              new CuFileBatch.Request(setting.handle(), false, setting.buffer(), 4096, 0, 4096)));
      events(batch, 3).forEach(CuFileTroubleScenario::tell);
    }
    say("submissions", setting.driver().statistics().batchSubmissions());
  }

  private static List<CuFileBatch.Event> events(CuFileBatch batch, int count)
      throws InterruptedException {
    List<CuFileBatch.Event> out = new ArrayList<>();
    while (out.size() < count) {
      out.addAll(batch.poll(count - out.size(), LONG));
    }
    return out;
  }

  private static void pollInterrupted(Setting setting) throws Exception {
    try (CuFileBatch batch = CuFileBatch.create(setting.driver(), 8)) {
      batch.submit(
          List.of(new CuFileBatch.Request(setting.handle(), false, setting.buffer(), 0, 0, 4096)));
      Thread waiting = Thread.currentThread();
      Thread interrupter =
          new Thread(
              () -> {
                while (waiting.getState() == Thread.State.RUNNABLE) {
                  Thread.onSpinWait();
                }
                waiting.interrupt();
              });
      interrupter.start();
      tell("poll", thrown(() -> batch.poll(1, Duration.ofHours(1))));
      interrupter.join();
      say("open", batch.openTransfers());
      say("later", events(batch, 1).get(0).status().symbol());
    }
  }

  private static void pollHang(Setting setting) throws Exception {
    CuFileBatch batch = CuFileBatch.create(setting.driver(), 8);
    batch.submit(
        List.of(new CuFileBatch.Request(setting.handle(), false, setting.buffer(), 0, 0, 4096)));
    tell("poll", thrown(() -> batch.poll(1, SHORT)));
    tell("close", thrown(() -> close(batch)));
  }

  private static void submitHang(Setting setting) throws Exception {
    CuFileBatch batch = CuFileBatch.create(setting.driver(), 8);
    List<CuFileBatch.Request> one =
        List.of(new CuFileBatch.Request(setting.handle(), false, setting.buffer(), 0, 0, 4096));
    tell(
        "submit",
        thrown(
            () -> {
              batch.submit(one);
              return "submitted";
            }));
    tell("poll", thrown(() -> batch.poll(1, SHORT)));
    tell(
        "again",
        thrown(
            () -> {
              batch.submit(one);
              return "submitted";
            }));
    tell("closeBuffer", thrown(() -> close(setting.buffer())));
  }

  private static void asyncHang(Setting setting) throws Exception {
    CudaStream stream = CudaStream.create(setting.context());
    tell("read", thrown(() -> setting.handle().readAsync(setting.buffer(), 0, 0, 4096, stream)));
    tell("closeBuffer", thrown(() -> close(setting.buffer())));
  }

  /** A call that queues after its caller has gone, or fails then: nothing stays open for it. */
  private static void asyncLate(Setting setting) throws Exception {
    try (CudaStream stream = CudaStream.create(setting.context())) {
      tell("read", thrown(() -> setting.handle().readAsync(setting.buffer(), 0, 0, 4096, stream)));
      closeLater(setting.buffer());
    }
    close(setting.handle());
    say("closedLater", true);
  }

  /** A call for one context hangs: what was to go to another one, and without cuFile, is told. */
  private static void submitApart(Setting setting) throws Exception {
    CuFileBatch batch = CuFileBatch.create(setting.driver(), 8);
    Path path = Path.of(setting.handle().file().path());
    try (CudaContext other = CudaContext.openPrimary(1);
        DeviceMemory memory = DeviceMemory.allocate(other, 8192);
        CuFileBuffer there = CuFileBuffer.register(setting.driver(), CuFileMemory.of(memory));
        CuFileHandle without =
            CuFileHandle.open(setting.driver(), path, CuFilePolicy.FORCE_POSIX)) {
      tell("submit", thrown(() -> submit(batch, parts(setting, there, without))));
      say("open", batch.openTransfers());
      batch.poll(3, SHORT).forEach(CuFileTroubleScenario::tell);
      tell("poll", thrown(() -> batch.poll(1, SHORT)));
    }
    say("closedOthers", true);
    tell("closeBuffer", thrown(() -> close(setting.buffer())));
  }

  /** As before, but the call returns in the end. */
  private static void submitLate(Setting setting) throws Exception {
    Path path = Path.of(setting.handle().file().path());
    try (CudaContext other = CudaContext.openPrimary(1);
        DeviceMemory memory = DeviceMemory.allocate(other, 8192);
        CuFileBuffer there = CuFileBuffer.register(setting.driver(), CuFileMemory.of(memory));
        CuFileHandle without = CuFileHandle.open(setting.driver(), path, CuFilePolicy.FORCE_POSIX);
        CuFileBatch batch = CuFileBatch.create(setting.driver(), 8)) {
      tell("submit", thrown(() -> submit(batch, parts(setting, there, without))));
      while (batch.openTransfers() > 0) {
        retry(() -> polled(batch)).forEach(CuFileTroubleScenario::tell);
      }
    }
    say("closed", true);
  }

  private static List<CuFileBatch.Event> polled(CuFileBatch batch) {
    try {
      return batch.poll(1, LONG);
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static Object submit(CuFileBatch batch, List<CuFileBatch.Request> requests) {
    batch.submit(requests);
    return "submitted";
  }

  private static List<CuFileBatch.Request> parts(
      Setting setting, CuFileBuffer there, CuFileHandle without) {
    return List.of(
        new CuFileBatch.Request(setting.handle(), false, setting.buffer(), 0, 0, 4096),
        new CuFileBatch.Request(setting.handle(), false, there, 0, 4096, 4096),
        new CuFileBatch.Request(without, false, setting.buffer(), 4096, 8192, 4096));
  }

  /** What cuFile was given stays open when something else breaks in the same call. */
  private static void batchBroken(Setting setting) throws Exception {
    Path path = Path.of(setting.handle().file().path());
    setting.driver().bounce(setting.context()).close();
    try (CuFileHandle without =
            CuFileHandle.open(setting.driver(), path, CuFilePolicy.FORCE_POSIX);
        CuFileBatch batch = CuFileBatch.create(setting.driver(), 8)) {
      List<CuFileBatch.Request> requests =
          List.of(
              new CuFileBatch.Request(setting.handle(), false, setting.buffer(), 0, 0, 4096),
              new CuFileBatch.Request(without, false, setting.buffer(), 4096, 8192, 4096));
      tell("submit", thrown(() -> submit(batch, requests)));
      say("open", batch.openTransfers());
      tell("closeBuffer", thrown(() -> close(setting.buffer())));
      events(batch, 2).forEach(CuFileTroubleScenario::tell);
    }
    close(setting.buffer());
    say("closed", true);
  }

  private static void openHang(CuFileOptions options, Path file) throws Exception {
    java.nio.file.Files.write(file, new byte[8192]);
    CuFileDriver driver = CuFileDriver.open(options);
    tell("open", thrown(() -> CuFileHandle.open(driver, file, CuFilePolicy.ALLOW_COMPAT)));
    tell("close", thrown(() -> close(driver)));
  }

  private static void closeHang(CuFileOptions options) {
    CuFileDriver driver = CuFileDriver.open(options.withTimeouts(SHORT, LONG));
    say("open", driver.isCuFileOpen());
    tell("close", thrown(() -> close(driver)));
    try (CuFileDriver again = CuFileDriver.open(options.withTimeouts(SHORT, LONG))) {
      say("again", again.unavailabilityCause().map(Throwable::getMessage).orElse("open"));
    }
  }
}
