package org.metrale.gpu.cufile;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import org.metrale.gpu.Allocation;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;

/** What forked JVMs run against a cuFile library; prints {@code KEY=VALUE} lines. */
public final class CuFileScenario {
  static final int SIZE = 3_000_017;
  private static final Duration LONG = Duration.ofSeconds(20);

  private CuFileScenario() {}

  public static void main(String[] arguments) throws Exception {
    Path file = Path.of(arguments[1]);
    try (CuFileDriver driver =
        CuFileDriver.open(CuFileOptions.defaults().withThreads(3, 256 << 10))) {
      say("open", driver.isCuFileOpen());
      driver.unavailabilityCause().ifPresent(e -> say("cause", e.getMessage().replace('\n', ' ')));
      switch (arguments[0]) {
        case "open" -> say("status", driver.status(file).toString().replace('\n', '|'));
        case "read-only" -> readOnly(driver, file);
        case "force" -> force(driver, file);
        case "facts" -> facts(driver, file);
        case "read" -> onDevice(driver, file, CuFileScenario::read);
        case "fail" -> onDevice(driver, file, CuFileScenario::fail);
        case "write" -> onDevice(driver, file, CuFileScenario::write);
        case "async" -> onDevice(driver, file, CuFileScenario::async);
        case "batch" -> onDevice(driver, file, CuFileScenario::batch);
        case "cost" -> onDevice(driver, file, CuFileScenario::cost);
        default -> throw new IllegalArgumentException(arguments[0]);
      }
    }
    say("ended", true);
  }

  static void say(String key, Object value) {
    System.out.println(key + "=" + value);
  }

  /** What a scenario works with. */
  record Setting(
      CuFileDriver driver,
      CudaContext context,
      CuFileHandle handle,
      CuFileBuffer buffer,
      DeviceMemory memory,
      byte[] bytes) {
    byte[] device(int offset, int length) throws InterruptedException {
      ByteBuffer host = ByteBuffer.allocateDirect(length);
      context.copy(memory.buffer(offset, length), org.metrale.gpu.cuda.CudaBuffer.of(host), LONG);
      byte[] out = new byte[length];
      host.get(out);
      return out;
    }
  }

  interface Scenario {
    void run(Setting setting) throws Exception;
  }

  private static void readOnly(CuFileDriver driver, Path file) {
    CuFileTroubleScenario.tell(
        "write",
        CuFileTroubleScenario.thrown(
            () ->
                CuFileHandle.open(
                    driver, file, CuFilePolicy.ALLOW_COMPAT, StandardOpenOption.WRITE)));
    try (CuFileHandle handle = CuFileHandle.open(driver, file, CuFilePolicy.ALLOW_COMPAT)) {
      say("read", handle.read(ByteBuffer.allocateDirect(5000), 0).lengthBytes());
    }
  }

  static void onDevice(CuFileDriver driver, Path file, Scenario scenario) throws Exception {
    byte[] bytes = new byte[SIZE];
    new Random(11).nextBytes(bytes);
    Files.write(file, bytes);
    try (CudaContext context = CudaContext.openPrimary(0);
        CuFileDriver own = CuFileDriver.open(driver.options());
        DeviceMemory memory = DeviceMemory.allocate(context, SIZE + 8192);
        CuFileBuffer buffer = CuFileBuffer.register(own, CuFileMemory.of(memory));
        CuFileHandle handle =
            CuFileHandle.open(
                own,
                file,
                CuFilePolicy.ALLOW_COMPAT,
                StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
      say("route", handle.route());
      handle.fallbackCause().ifPresent(e -> say("fallback", e.getMessage()));
      scenario.run(new Setting(own, context, handle, buffer, memory, bytes));
    }
  }

  static boolean same(Setting setting, int at, int from, int length) throws InterruptedException {
    byte[] got = setting.device(at, length);
    return java.util.Arrays.equals(got, 0, length, setting.bytes, from, from + length);
  }

  private static void read(Setting setting) throws Exception {
    Random random = new Random(3);
    boolean right = true;
    CuFileTransfer last = null;
    for (int i = 0; i < 40; i++) {
      int from = random.nextInt(SIZE);
      int length = random.nextInt(SIZE - from + 1);
      int at = random.nextInt(4096);
      last = setting.handle.read(setting.buffer, at, from, length);
      right &= last.lengthBytes() == length && same(setting, at, from, length);
    }
    say("right", right);
    say("last", last.route());
    say("short", setting.handle.read(setting.buffer, 0, SIZE - 100, 4096).lengthBytes());
    CuFileMemory memory = CuFileMemory.of(setting.memory).slice(77, 1000);
    say("unregistered", setting.handle.read(memory, 5).lengthBytes());
    say("unregisteredRight", same(setting, 77, 5, 1000));
    ByteBuffer host = ByteBuffer.allocateDirect(5000);
    say("host", setting.handle.read(host, 9).route());
    say("registered", setting.buffer.isRegistered());
  }

  private static void write(Setting setting) throws Exception {
    setting.context.fill(setting.memory.buffer(), (byte) 0x5A, LONG);
    say("written", setting.handle.write(setting.buffer, 13, 100_001, 1_000_003).lengthBytes());
    byte[] now = Files.readAllBytes(Path.of(setting.handle.file().path()));
    boolean right = now.length == SIZE;
    for (int i = 0; i < SIZE; i++) {
      boolean inside = i >= 100_001 && i < 1_100_004;
      right &= now[i] == (inside ? 0x5A : setting.bytes[i]);
    }
    say("right", right);
  }

  private static void fail(Setting setting) {
    try {
      say("bytes", setting.handle.read(setting.buffer, 0, 4096, 8192).lengthBytes());
    } catch (CuFileException e) {
      say("symbol", e.symbol());
      say("code", e.code());
      say("errno", e.errno());
      say("message", e.getMessage());
    }
  }

  private static void async(Setting setting) throws Exception {
    try (CudaStream stream = CudaStream.create(setting.context);
        CuFileOperation first =
            setting.handle.readAsync(setting.buffer, 0, 4096, 1_000_000, stream);
        CuFileOperation second =
            setting.handle.readAsync(setting.buffer, 1_000_000, 4096, 100, stream)) {
      say("first", first.await(LONG).orElseThrow().lengthBytes());
      say("second", second.await(LONG).orElseThrow().lengthBytes());
      say("done", first.isDone());
      say("right", same(setting, 0, 4096, 1_000_000) && same(setting, 1_000_000, 4096, 100));
    }
  }

  private static void batch(Setting setting) throws Exception {
    try (CuFileBatch batch = CuFileBatch.create(setting.driver, 8)) {
      batch.submit(
          List.of(
              new CuFileBatch.Request(setting.handle, false, setting.buffer, 0, 0, 4096),
              new CuFileBatch.Request(setting.handle, false, setting.buffer, 4096, 8192, 4096),
              new CuFileBatch.Request(
                  setting.handle, false, setting.buffer, 8192, SIZE - 5, 4096)));
      long total = 0;
      while (batch.openTransfers() > 0) {
        for (CuFileBatch.Event event : batch.poll(1, LONG)) {
          total += event.transfer().orElseThrow().lengthBytes();
        }
      }
      say("total", total);
      say("right", same(setting, 0, 0, 4096) && same(setting, 4096, 8192, 4096));
    }
  }

  private static void force(CuFileDriver driver, Path file) throws IOException {
    Files.write(file, new byte[8192]);
    try (CuFileHandle handle = CuFileHandle.open(driver, file, CuFilePolicy.FORCE_GDS)) {
      say("route", handle.route());
    } catch (GpuException e) {
      say("refused", e.getMessage());
    }
  }

  private static void facts(CuFileDriver driver, Path file) throws Exception {
    CuFileProperties properties = driver.properties();
    say("nvidiaFs", properties.nvidiaFsMajor());
    say("compat", properties.isCompatAllowed());
    CuFileParameters parameters = driver.parameters();
    say("batchSize", parameters.value(CuFileParameters.Size.PROPERTIES_IO_BATCHSIZE));
    say("compatFlag", parameters.isOn(CuFileParameters.Flag.PROPERTIES_ALLOW_COMPAT_MODE));
    say("level", parameters.value(CuFileParameters.Text.LOGGING_LEVEL));
    driver.startStatistics(3);
    onDevice(
        driver,
        file,
        setting -> {
          setting.handle.read(setting.buffer, 0, 0, 8192);
          setting.handle.write(setting.buffer, 0, 0, 4096);
        });
    CuFileStatistics statistics = driver.statistics();
    say("reads", statistics.reads());
    say("writes", statistics.writes());
    say("readBytes", statistics.readBytes());
    say("writeBytes", statistics.writeBytes());
    say("sizes", java.util.Arrays.stream(statistics.readSizes()).sum());
    say("devices", statistics.devices().size());
    say("gdsReads", statistics.devices().get(0).gdsReads());
    driver.stopStatistics();
    driver.resetStatistics();
    say("afterReset", driver.statistics().readBytes());
  }

  private static void cost(Setting setting) throws Exception {
    long address = CuFileMemory.of(setting.memory).slice(4096, 4096).address();
    long context = CuFileMemory.of(setting.memory).contextAddress();
    setting.buffer.close();
    long registering =
        Allocation.fewest(
            5,
            () -> {
              for (int i = 0; i < 20_000; i++) {
                CuFileCalls.cuFileBufRegister(context, address, 4096);
                CuFileCalls.cuFileBufDeregister(context, address);
              }
            });
    say("registerBytes", registering / 20_000);
    CuFileSpan span = setting.handle.span(CuFileMemory.of(setting.memory));
    long reading =
        Allocation.fewest(
            5,
            () -> {
              for (int i = 0; i < 20_000; i++) {
                CuFileCalls.cuFileRead(span, 4096, 0, 0);
              }
            });
    say("readBytes", reading / 20_000);
  }
}
