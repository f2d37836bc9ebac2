package org.metrale.gpu.cufile;

import static org.metrale.gpu.cufile.CuFileScenario.say;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.LONG;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.SHORT;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.close;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.closeLater;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.tell;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.thrown;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.with;

import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cufile.CuFileScenario.Setting;

/** What forked JVMs run while calls hang or are late. */
public final class CuFileDeadlineScenario {
  private CuFileDeadlineScenario() {}

  /** Nothing is closed where a call hangs: the process must end all the same. */
  public static void main(String[] arguments) throws Exception {
    Path file = Path.of(arguments[1]);
    Duration forever = ChronoUnit.FOREVER.getDuration();
    CuFileOptions options = CuFileOptions.defaults().withThreads(3, 256 << 10);
    CuFileOptions transfers = options.withTimeouts(LONG, SHORT);
    CuFileOptions calls = options.withTimeouts(SHORT, LONG);
    switch (arguments[0]) {
      case "closeHang" -> closeHang(options);
      case "hang" -> with(transfers, file, CuFileDeadlineScenario::hang);
      case "openHang" -> openHang(calls, file);
      case "forever" ->
          with(options.withTimeouts(forever, forever), file, CuFileDeadlineScenario::forever);
      case "late" -> with(options, file, CuFileDeadlineScenario::late);
      case "interrupt" -> with(options, file, CuFileDeadlineScenario::interrupt);
      case "asyncHang" -> with(transfers, file, CuFileDeadlineScenario::asyncHang);
      case "asyncLate" -> with(transfers, file, CuFileDeadlineScenario::asyncLate);
      case "facts" -> with(calls, file, CuFileDeadlineScenario::facts);
      case "buffers" -> with(calls, file, CuFileDeadlineScenario::buffers);
      case "batches" -> with(calls, file, CuFileDeadlineScenario::batches);
      case "closeFile" -> with(calls, file, CuFileDeadlineScenario::closeFile);
      case "lateBuffers" -> with(calls, file, CuFileDeadlineScenario::lateBuffers);
      case "lateBatch" -> with(calls, file, CuFileDeadlineScenario::lateBatch);
      default -> throw new IllegalArgumentException(arguments[0]);
    }
    say("ended", true);
  }

  /** Every call that asks or sets something, one after the other. */
  private static void facts(Setting setting) {
    CuFileDriver driver = setting.driver();
    CuFileParameters parameters = driver.parameters();
    tell("properties", thrown(driver::properties));
    tell("size", thrown(() -> parameters.value(CuFileParameters.Size.PROFILE_STATS)));
    tell("flag", thrown(() -> parameters.isOn(CuFileParameters.Flag.FORCE_COMPAT_MODE)));
    tell("text", thrown(() -> parameters.value(CuFileParameters.Text.LOG_DIR)));
    tell(
        "setSize", thrown(() -> set(() -> parameters.set(CuFileParameters.Size.PROFILE_STATS, 1))));
    tell(
        "setFlag",
        thrown(() -> set(() -> parameters.set(CuFileParameters.Flag.FORCE_COMPAT_MODE, true))));
    tell("setText", thrown(() -> set(() -> parameters.set(CuFileParameters.Text.LOG_DIR, "/"))));
    tell("level", thrown(() -> set(() -> driver.startStatistics(1))));
    tell("stop", thrown(() -> set(driver::stopStatistics)));
    tell("reset", thrown(() -> set(driver::resetStatistics)));
    tell("statistics", thrown(driver::statistics));
    tell("status", thrown(() -> driver.status(Path.of("/"))));
    say("calls", driver.unfinishedCalls());
    tell("close", thrown(() -> close(driver)));
  }

  private static Object set(Runnable call) {
    call.run();
    return "set";
  }

  private static void buffers(Setting setting) {
    CuFileMemory part = CuFileMemory.of(setting.memory()).slice(4096, 8192);
    tell("register", thrown(() -> CuFileBuffer.register(setting.driver(), part)));
    tell("deregister", thrown(() -> close(setting.buffer())));
    say("closed", setting.buffer().isClosed());
    tell("closeMemory", thrown(() -> close(setting.memory())));
    say("calls", setting.driver().unfinishedCalls());
  }

  private static void batches(Setting setting) {
    CuFileBatch batch = CuFileBatch.create(setting.driver(), 8);
    tell("setUp", thrown(() -> CuFileBatch.create(setting.driver(), 8)));
    CuFileBatch other = CuFileBatch.create(setting.driver(), 4);
    tell("destroy", thrown(() -> close(other)));
    say("calls", setting.driver().unfinishedCalls());
  }

  private static void closeFile(Setting setting) {
    tell("close", thrown(() -> close(setting.handle())));
    say("closed", setting.handle().isClosed());
    tell("closeDriver", thrown(() -> close(setting.driver())));
  }

  /** Calls that come back: what was registered is registered no more, and memory can go. */
  private static void lateBuffers(Setting setting) throws Exception {
    DeviceMemory memory = DeviceMemory.allocate(setting.context(), 8192);
    CuFileMemory range = CuFileMemory.of(memory);
    tell("register", thrown(() -> CuFileBuffer.register(setting.driver(), range)));
    tell("closeMemory", thrown(() -> close(memory)));
    untilReturned(setting.driver());
    // Possible only when the late registration has been taken back.
    try (CuFileBuffer again = CuFileBuffer.register(setting.driver(), range)) {
      say("again", again.isRegistered());
    }
    tell("deregister", thrown(() -> close(setting.buffer())));
    closeLater(setting.memory());
    closeLater(memory);
    say("calls", setting.driver().unfinishedCalls());
    close(setting.handle());
    close(setting.driver());
  }

  private static void untilReturned(CuFileDriver driver) {
    CuFileTroubleScenario.retry(
        () -> {
          if (driver.unfinishedCalls() > 0) {
            throw new IllegalStateException("calls that have not returned");
          }
          return true;
        });
  }

  private static void lateBatch(Setting setting) {
    tell("setUp", thrown(() -> CuFileBatch.create(setting.driver(), 8)));
    setting.handle().close();
    setting.buffer().close();
    closeLater(setting.driver());
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

  /** Whether the caller's own thread is inside cuFile. */
  private static void forever(Setting setting) throws Exception {
    say("inside", inside("metrale_cufile_read", () -> read(setting)));
    CuFileMemory all = CuFileMemory.of(setting.memory());
    close(setting.buffer());
    say(
        "insideRegister",
        inside(
            "metrale_cufile_buffer_register",
            () -> close(CuFileBuffer.register(setting.driver(), all))));
  }

  private static Object read(Setting setting) {
    long bytes = setting.handle().read(setting.buffer(), 0, 0, 4096).lengthBytes();
    say("bytes", bytes);
    return bytes;
  }

  private static boolean inside(String method, CuFileTroubleScenario.Call call) throws Exception {
    Thread caller = Thread.currentThread();
    AtomicBoolean inside = new AtomicBoolean();
    AtomicBoolean over = new AtomicBoolean();
    Thread looking =
        new Thread(
            () -> {
              while (!over.get() && !inside.get()) {
                for (StackTraceElement frame : caller.getStackTrace()) {
                  inside.compareAndSet(false, frame.getMethodName().equals(method));
                }
              }
            });
    looking.start();
    Objects.requireNonNull(call.call());
    over.set(true);
    looking.join();
    return inside.get();
  }

  /** A call that comes back after all. */
  private static void late(Setting setting) throws Exception {
    tell("first", thrown(() -> setting.handle().read(setting.buffer(), 0, 0, 4096, SHORT)));
    tell("close", thrown(() -> close(setting.handle())));
    say("second", setting.handle().read(setting.buffer(), 0, 0, 4096).lengthBytes());
    closeLater(setting.buffer());
    say("closedLater", true);
  }

  private static void interrupt(Setting setting) {
    Thread.currentThread().interrupt();
    tell("timed", thrown(() -> setting.handle().read(setting.buffer(), 0, 0, 4096, LONG)));
    say("flagAfterTimed", Thread.interrupted());
    Thread.currentThread().interrupt();
    say("usual", setting.handle().read(setting.buffer(), 0, 0, 4096).lengthBytes());
    say("flagAfterUsual", Thread.interrupted());
  }

  private static void asyncHang(Setting setting) throws Exception {
    CudaStream stream = CudaStream.create(setting.context());
    tell("read", thrown(() -> setting.handle().readAsync(setting.buffer(), 0, 0, 4096, stream)));
    tell("closeBuffer", thrown(() -> close(setting.buffer())));
    say("abandoned", setting.driver().abandonedOperations());
    say("calls", setting.driver().unfinishedCalls());
  }

  /** A call that queues after its caller has gone, or fails then: nothing stays open for it. */
  private static void asyncLate(Setting setting) throws Exception {
    try (CudaStream stream = CudaStream.create(setting.context())) {
      tell("read", thrown(() -> setting.handle().readAsync(setting.buffer(), 0, 0, 4096, stream)));
      say("abandoned", setting.driver().abandonedOperations());
      closeLater(setting.buffer());
      say("abandonedLater", setting.driver().abandonedOperations());
    }
    close(setting.handle());
    say("closedLater", true);
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
