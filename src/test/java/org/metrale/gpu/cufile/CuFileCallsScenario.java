package org.metrale.gpu.cufile;

import static org.metrale.gpu.cufile.CuFileScenario.SIZE;
import static org.metrale.gpu.cufile.CuFileScenario.same;
import static org.metrale.gpu.cufile.CuFileScenario.say;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.LONG;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.tell;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.thrown;
import static org.metrale.gpu.cufile.CuFileTroubleScenario.with;

import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cuda.HostMemory;
import org.metrale.gpu.cufile.CuFileScenario.Setting;

/** What forked JVMs do by the calls that no other scenario makes. */
public final class CuFileCallsScenario {
  private CuFileCallsScenario() {}

  public static void main(String[] arguments) throws Exception {
    Path file = Path.of(arguments[1]);
    CuFileOptions options = CuFileOptions.defaults().withThreads(3, 256 << 10);
    switch (arguments[0]) {
      case "calls" -> with(options, file, CuFileCallsScenario::calls);
      case "writes" -> with(options, file, CuFileCallsScenario::writes);
      case "memories" -> with(options, file, CuFileCallsScenario::memories);
      case "drivers" -> drivers(options);
      default -> throw new IllegalArgumentException(arguments[0]);
    }
    say("ended", true);
  }

  private static void calls(Setting setting) throws Exception {
    CuFileHandle handle = setting.handle();
    say("size", handle.sizeBytes());
    say("alignment", handle.directAlignmentBytes() > 0);
    Path path = Path.of(handle.file().path());
    say("fileSystem", handle.fileSystem().equals(FileSystems.ofFolder(path)));
    CuFileTransfer timed = handle.read(setting.buffer(), 0, 8192, 4096, LONG);
    say("timed", timed.lengthBytes() == 4096 && same(setting, 0, 8192, 4096));
    try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ);
        CuFileHandle other = CuFileHandle.open(setting.driver(), channel, CuFilePolicy.FORCE_GDS)) {
      say("channel", other.route());
      CuFileTransfer done = other.read(setting.buffer(), 4096, 16384, 8192);
      say("channelRight", done.lengthBytes() == 8192 && same(setting, 4096, 16384, 8192));
      // A forced file's host memory goes by cuFile too.
      ByteBuffer host = ByteBuffer.allocateDirect(16384).alignedSlice(4096).limit(8192);
      CuFileTransfer toHost = other.read(host, 4096);
      say("host", toHost);
      say("position", host.position());
      byte[] got = new byte[8192];
      host.get(0, got);
      say("hostRight", Arrays.equals(got, 0, 8192, setting.bytes(), 4096, 4096 + 8192));
    }
    say("library", CuFileLibrary.isAvailable() && CuFileLibrary.supports("cuFileRead"));
    say("unknown", CuFileLibrary.supports("cuFileThatIsNone"));
    say("version", CuFileLibrary.version().orElse("none"));
    say("look", GdsStatus.look(path).driver());
    say("properties", setting.driver().properties().hasP2pDma());
    CuFileParameters parameters = setting.driver().parameters();
    say("level", parameters.value(CuFileParameters.Text.LOGGING_LEVEL));
    tell("set", thrown(() -> set(parameters, CuFileParameters.Size.PROFILE_STATS)));
  }

  private static Object set(CuFileParameters parameters, CuFileParameters.Size parameter) {
    parameters.set(parameter, 1);
    return "set";
  }

  /** By a stream, by a batch, from a buffer of the host, with a time. */
  private static void writes(Setting setting) throws Exception {
    Path path = Path.of(setting.handle().file().path());
    setting.context().fill(setting.memory().buffer(), (byte) 0x37, LONG);
    try (CudaStream stream = CudaStream.create(setting.context());
        CuFileOperation operation =
            setting.handle().writeAsync(setting.buffer(), 4096, 8192, 12_288, stream)) {
      CuFileTransfer done = operation.await(LONG).orElseThrow();
      say("async", done);
      say("result", operation.result().orElseThrow().equals(done));
    }
    say("timed", setting.handle().write(setting.buffer(), 0, 65_536, 4096, LONG).lengthBytes());
    ByteBuffer host = ByteBuffer.allocateDirect(100);
    while (host.hasRemaining()) {
      host.put((byte) 0x37);
    }
    say("host", setting.handle().write(host.flip(), 200_000).lengthBytes());
    List<CuFileBatch.Event> events = new ArrayList<>();
    try (CuFileBatch batch = CuFileBatch.create(setting.driver(), 4)) {
      batch.submit(
          List.of(
              new CuFileBatch.Request(setting.handle(), true, setting.buffer(), 0, 32_768, 4096),
              new CuFileBatch.Request(
                  setting.handle(), true, setting.buffer(), 8192, 49_152, 4096)));
      while (batch.openTransfers() > 0) {
        events.addAll(batch.poll(1, LONG));
      }
      batch.submit(
          List.of(new CuFileBatch.Request(setting.handle(), false, setting.buffer(), 0, 0, 4096)));
      batch.cancel();
      say("cancelled", batch.poll(1, LONG).size());
    }
    say("batch", events.stream().map(e -> e.transfer().orElseThrow().lengthBytes()).toList());
    setting.handle().sync();
    byte[] now = Files.readAllBytes(path);
    boolean right = now.length == SIZE;
    for (int i = 0; i < SIZE; i++) {
      boolean written =
          i >= 8192 && i < 8192 + 12_288
              || i >= 65_536 && i < 65_536 + 4096
              || i >= 200_000 && i < 200_100
              || i >= 32_768 && i < 32_768 + 4096
              || i >= 49_152 && i < 49_152 + 4096;
      right &= now[i] == (written ? 0x37 : setting.bytes()[i]);
    }
    say("right", right);
  }

  /** Memory of each kind, into the file and back. */
  private static void memories(Setting setting) throws Exception {
    CuFileHandle handle = setting.handle();
    say("registered", setting.buffer().memory().isOnDevice());
    try (HostMemory pinned = HostMemory.allocate(setting.context(), 8192);
        DeviceMemory device = DeviceMemory.allocate(setting.context(), 16_384)) {
      setting.context().fill(device.buffer(), (byte) 0x5B, LONG);
      CuFileMemory range = CuFileMemory.of(setting.context(), device.buffer(4096, 8192));
      CuFileMemory host = CuFileMemory.of(pinned);
      ByteBuffer plain = ByteBuffer.allocateDirect(4096);
      CuFileMemory direct = CuFileMemory.of(plain);
      say("lengths", List.of(range.lengthBytes(), host.lengthBytes(), direct.lengthBytes()));
      say("onDevice", List.of(range.isOnDevice(), host.isOnDevice(), direct.isOnDevice()));
      say("range", handle.write(range, 16_384));
      say("host", handle.read(host, 16_384));
      say("direct", handle.read(direct, 20_480));
      ByteBuffer seen = ByteBuffer.allocateDirect(8192);
      say("copied", setting.context().copy(pinned.buffer(), CudaBuffer.of(seen), LONG));
      boolean right = true;
      for (int i = 0; i < 8192; i++) {
        right &= seen.get(i) == 0x5B && plain.get(i % 4096) == 0x5B;
      }
      say("right", right);
    }
  }

  /**
   * However many there are, the library's driver is opened once, and again only after its close.
   */
  private static void drivers(CuFileOptions options) {
    CuFileDriver first = CuFileDriver.open(options);
    CuFileDriver second = CuFileDriver.open(options.withTimeouts(Duration.ofSeconds(7), LONG));
    say("second", second.unavailabilityCause().map(Throwable::getMessage).orElse("open"));
    first.close();
    first.close();
    say("stillOpen", second.properties().nvidiaFsMajor());
    second.close();
    try (CuFileDriver third = CuFileDriver.open()) {
      say("third", third.unavailabilityCause().map(Throwable::getMessage).orElse("open"));
      say("options", third.options().equals(CuFileOptions.defaults()));
    }
  }
}
