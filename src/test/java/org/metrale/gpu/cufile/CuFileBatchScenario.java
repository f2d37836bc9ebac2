package org.metrale.gpu.cufile;

import static org.metrale.gpu.cufile.CuFileScenario.say;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.LONG;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.SHORT;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.close;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.retry;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.tell;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.thrown;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.with;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cufile.CuFileScenario.Setting;

/** What forked JVMs do with batches while something goes wrong. */
public final class CuFileBatchScenario {
  private CuFileBatchScenario() {}

  /** Nothing is closed where a call hangs: the process must end all the same. */
  public static void main(String[] arguments) throws Exception {
    Path file = Path.of(arguments[1]);
    CuFileOptions options = CuFileOptions.defaults().withThreads(3, 256 << 10);
    CuFileOptions quick = options.withTimeouts(LONG, SHORT);
    switch (arguments[0]) {
      case "contexts" -> with(options, file, CuFileBatchScenario::contexts);
      case "pollInterrupted" -> with(options, file, CuFileBatchScenario::pollInterrupted);
      case "pollHang" -> with(options, file, CuFileBatchScenario::pollHang);
      case "submitHang" -> with(quick, file, CuFileBatchScenario::submitHang);
      case "submitApart" -> with(quick, file, CuFileBatchScenario::submitApart);
      case "submitLate" -> with(quick, file, CuFileBatchScenario::submitLate);
      case "batchBroken" -> with(options, file, CuFileBatchScenario::batchBroken);
      default -> throw new IllegalArgumentException(arguments[0]);
    }
    say("ended", true);
  }

  private static void show(CuFileBatch.Event event) {
    say(
        "event",
        event.request().fileOffsetBytes()
            + " "
            + event.status().symbol()
            + " "
            + event.problem().map(GpuException::getMessage).orElse(""));
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
      events(batch, 3).forEach(CuFileBatchScenario::show);
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
      batch.poll(3, SHORT).forEach(CuFileBatchScenario::show);
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
        retry(() -> polled(batch)).forEach(CuFileBatchScenario::show);
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
      events(batch, 2).forEach(CuFileBatchScenario::show);
    }
    close(setting.buffer());
    say("closed", true);
  }
}
