package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Two processes, each with its own adapters of the software GPU host. */
@Tag("emulator")
@Timeout(180)
class RailTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** More than one window, and no whole number of anything. */
  private static final int BYTES = 20_000_003;

  private static final String SLOW = "--emulator-set=ibv.bytes_per_second=2000000";

  @TempDir private Path folder;
  private Path source;
  private Path target;

  @BeforeEach
  void prepare() throws IOException {
    source = folder.resolve("source");
    target = Files.createDirectory(folder.resolve("here")).resolve("target");
  }

  private byte[] data() throws IOException {
    byte[] bytes = new byte[BYTES];
    new SplittableRandom(5).nextBytes(bytes);
    Files.write(source, bytes);
    return bytes;
  }

  private static ToolProcess rail(String... arguments) throws Exception {
    return ToolProcess.emulated(
        Stream.concat(Stream.of("rail"), Stream.of(arguments)).toArray(String[]::new));
  }

  private List<Path> made() throws IOException {
    try (Stream<Path> files = Files.list(target.getParent())) {
      return files.toList();
    }
  }

  /** It said in a line why it failed, and left nothing. */
  private void failed(ToolProcess process, String... words) throws IOException {
    assertEquals(1, process.exitCode(), process.out() + process.err());
    assertEquals(1, process.err().lines().count(), process.err());
    for (String word : words) {
      assertTrue(process.err().contains(word), process.err());
    }
    assertEquals(List.of(), made());
  }

  @Test
  void getsAFileAsItIsServed() throws Exception {
    byte[] bytes = data();
    try (ServingProcess server = new ServingProcess("--file=" + source, "--once")) {
      assertEquals("127.0.0.1", server.beginning().get("host").asText());
      assertTrue(server.beginning().get("emulated").asBoolean());
      assertFalse(server.beginning().get("writable").asBoolean());
      ToolProcess get = rail("get", server.peer(), target.toString(), "--json");
      assertEquals(0, get.exitCode(), get.err());
      JsonNode told = JSON.readTree(get.out());
      assertTrue(told.get("verified").asBoolean(), get.out());
      assertEquals(BYTES, told.get("bytes").asInt());
      assertEquals(2, told.get("rails").size());
      for (JsonNode rail : told.get("rails")) {
        assertTrue(rail.get("carried_bytes").asLong() > 0, get.out());
      }
      assertArrayEquals(bytes, Files.readAllBytes(target));
      assertEquals(List.of(target), made());
      assertEquals(0, server.exitCode());
      assertEquals(1, server.ending().get("connected").asInt());
    }
  }

  @Test
  void getsPartOfAFileAndSaysThatItIsNotVerified() throws Exception {
    byte[] bytes = data();
    try (ServingProcess server = new ServingProcess("--file=" + source)) {
      ToolProcess get =
          rail(
              "get",
              "rail://" + server.peer() + "/source#source",
              target.toString(),
              "--offset=7",
              "--length=9000000");
      assertEquals(0, get.exitCode(), get.err());
      assertTrue(get.out().startsWith("EMULATED: got "), get.out());
      assertTrue(get.out().contains("not verified"), get.out());
      byte[] got = Files.readAllBytes(target);
      assertEquals(9_000_000, got.length);
      assertEquals(
          -1, ByteBuffer.wrap(bytes, 7, got.length).slice().mismatch(ByteBuffer.wrap(got)));
    }
  }

  @Test
  void replacesAFileOnlyWithACompleteOne() throws Exception {
    data();
    Files.writeString(target, "old");
    try (ServingProcess server = new ServingProcess("--file=" + source)) {
      ToolProcess more = rail("get", server.peer(), target.toString(), "--length=21000000");
      assertEquals(1, more.exitCode(), more.out());
      assertTrue(more.err().contains("has " + BYTES + " bytes"), more.err());
      assertEquals("old", Files.readString(target));
      assertEquals(0, rail("get", server.peer(), target.toString()).exitCode());
      assertEquals(BYTES, Files.size(target));
    }
  }

  @Test
  void putsAFileThatOthersCanGet() throws Exception {
    byte[] bytes = data();
    try (ServingProcess server = new ServingProcess("--arena=32M", "--writable")) {
      ToolProcess put = rail("put", source.toString(), server.peer(), "--offset=4097", "--json");
      assertEquals(0, put.exitCode(), put.err());
      assertTrue(JSON.readTree(put.out()).get("verified").asBoolean(), put.out());
      ToolProcess get =
          rail(
              "get",
              server.peer(),
              target.toString(),
              "--writable",
              "--offset=4097",
              "--length=" + BYTES);
      assertEquals(0, get.exitCode(), get.err());
      assertArrayEquals(bytes, Files.readAllBytes(target));
      server.terminate();
      assertEquals(0, server.exitCode());
      assertEquals(2, server.ending().get("connected").asInt());
    }
  }

  @Test
  void noticesThatTheFileIsNotWhatItWas() throws Exception {
    byte[] bytes = data();
    try (ServingProcess server = new ServingProcess("--file=" + source)) {
      bytes[BYTES / 2]++;
      Files.write(source, bytes, StandardOpenOption.WRITE); // in place: the mapping sees it
      failed(
          rail("get", server.peer(), target.toString()), "is not what", "CRC-32C", "changed while");
    }
  }

  @Test
  void servesACopyWhereTheKernelDoesNotPinTheMapping() throws Exception {
    byte[] bytes = data();
    try (ServingProcess server =
        new ServingProcess(
            "--file=" + source, "--emulator-set=fault=ibverbs.ibv_reg_mr call=1 code=14")) {
      assertEquals(source + ", copied to memory", server.beginning().get("serves").asText());
      ToolProcess get = rail("get", server.peer(), target.toString());
      assertEquals(0, get.exitCode(), get.err());
      assertTrue(get.out().contains("as the peer says"), get.out());
      assertArrayEquals(bytes, Files.readAllBytes(target));
    }
  }

  @Test
  void putsPartsOfALongFileTogether() throws Exception {
    long part = 1L << 30;
    byte[] around = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    try (FileChannel file =
        FileChannel.open(source, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
      file.write(ByteBuffer.wrap(around), part - 4); // sparse
    }
    try (ServingProcess server = new ServingProcess("--file=" + source, "--no-checksum")) {
      ToolProcess get =
          rail(
              "get",
              server.peer(),
              target.toString(),
              "--offset=" + (part - 4),
              "--length=" + around.length);
      assertEquals(0, get.exitCode(), get.err());
      assertArrayEquals(around, Files.readAllBytes(target));
    }
  }

  @Test
  void refusesToWriteToWhatIsReadOnly() throws Exception {
    data();
    try (ServingProcess server = new ServingProcess("--arena=32M")) {
      failed(
          rail("put", source.toString(), server.peer()), server.peer(), "if it serves read-only");
      failed(rail("bench", server.peer(), "--op=write"), server.peer(), "if it serves read-only");
      server.terminate();
      assertEquals(0, server.exitCode());
      JsonNode ending = server.ending();
      assertEquals(0, ending.get("connected").asInt());
      assertEquals(2, ending.get("refused").asInt());
    }
  }

  @Test
  void refusesMoreThanTheArenaHas() throws Exception {
    data();
    try (ServingProcess server = new ServingProcess("--arena=1M", "--writable")) {
      failed(rail("put", source.toString(), server.peer()), "an arena of less than " + BYTES);
      failed(rail("get", server.peer(), target.toString()), "needs --writable");
    }
  }

  @Test
  void saysThatMoreRailsWereWantedThanThereAre() throws Exception {
    data();
    try (ServingProcess server = new ServingProcess("--file=" + source, "--rails=1")) {
      failed(rail("get", server.peer(), target.toString()), "railCount: wanted 2", "--rails");
      ToolProcess one = rail("get", server.peer(), target.toString(), "--rails=1");
      assertEquals(0, one.exitCode(), one.err());
    }
  }

  @Test
  void saysThatNobodyListens() throws Exception {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    failed(rail("get", "127.0.0.1:" + port, target.toString()), "127.0.0.1:" + port, "refused");
  }

  @Test
  void saysThatAPeerIsNoneOfOurs() throws Exception {
    data();
    try (ServerSocket other = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
      Thread banner = new Thread(() -> greet(other), "banner");
      banner.setDaemon(true);
      banner.start();
      String peer = "127.0.0.1:" + other.getLocalPort();
      failed(rail("get", peer, target.toString()), "is it a rail peer at all");
      failed(rail("put", source.toString(), peer), peer);
    }
  }

  private static void greet(ServerSocket server) {
    while (!server.isClosed()) {
      try (Socket client = server.accept()) {
        client
            .getOutputStream()
            .write("SSH-2.0-OpenSSH_9.2p1 Debian\r\n".getBytes(StandardCharsets.US_ASCII));
        client.getOutputStream().flush();
        // Until it hangs up: closing first would be another failure.
        client.getInputStream().readAllBytes();
      } catch (IOException e) {
        // the client is gone, or the test over
      }
    }
  }

  @Test
  void givesUpOnAPeerThatSaysNothing() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
      failed(
          rail("get", "127.0.0.1:" + silent.getLocalPort(), target.toString(), "--timeout=1"),
          "the deadline passed");
    }
  }

  @Test
  void leavesNothingWhenTheServerIsKilled() throws Exception {
    data();
    try (ServingProcess server = new ServingProcess("--file=" + source)) {
      Process get = begin("get", server.peer(), target.toString(), "--timeout=6", SLOW);
      awaitSomething();
      server.kill();
      assertTrue(get.waitFor(120, TimeUnit.SECONDS));
      String err = new String(get.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
      String out = new String(get.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      failed(
          new ToolProcess(get.exitValue(), out, err),
          server.peer(),
          "read of ",
          "does the peer still run?");
    }
  }

  @Test
  void leavesNothingWhenItIsToldToEnd() throws Exception {
    data();
    try (ServingProcess server = new ServingProcess("--file=" + source)) {
      Process get = begin("get", server.peer(), target.toString(), SLOW);
      awaitSomething();
      get.destroy();
      assertTrue(get.waitFor(120, TimeUnit.SECONDS));
      assertEquals(143, get.exitValue());
      assertEquals(List.of(), made());
    }
  }

  private static Process begin(String... arguments) throws IOException {
    String[] all = Stream.concat(Stream.of("rail"), Stream.of(arguments)).toArray(String[]::new);
    return ToolProcess.builder(ToolProcess.onEmulator(all)).start();
  }

  /** Until part of the file has arrived. */
  private void awaitSomething() throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (made().isEmpty() || Files.size(made().get(0)) == 0) {
      assertTrue(System.nanoTime() < end, "nothing arrives");
      Thread.sleep(10);
    }
  }

  @Test
  void saysThatTheTargetCannotBeMade() throws Exception {
    data();
    try (ServingProcess server = new ServingProcess("--file=" + source)) {
      // Not even root makes files there.
      failed(rail("get", server.peer(), "/proc/target"), "/proc/", "cannot be made");
    }
  }

  @Test
  void goesOnWhenARailFails() throws Exception {
    byte[] bytes = data();
    try (ServingProcess server = new ServingProcess("--file=" + source)) {
      ToolProcess get =
          rail(
              "get",
              server.peer(),
              target.toString(),
              "--json",
              "--emulator-set=fault=ibverbs.transfer device=1 call=4 code=12");
      assertEquals(0, get.exitCode(), get.err());
      assertEquals(
          1, JSON.readTree(get.out()).get("rails").get(1).get("failures").asInt(), get.out());
      assertArrayEquals(bytes, Files.readAllBytes(target));
    }
  }

  @Test
  void measuresWithPerftestsColumns() throws Exception {
    try (ServingProcess server = new ServingProcess("--arena=1M", "--writable")) {
      ToolProcess write =
          rail("bench", server.peer(), "--op=write", "--size=4K,64K", "--iterations=100");
      assertEquals(0, write.exitCode(), write.err());
      List<String> lines = write.out().lines().toList();
      assertTrue(lines.get(0).startsWith("EMULATED: write bandwidth"), write.out());
      assertEquals(
          " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]",
          lines.get(1));
      String number = " +[0-9]+\\.[0-9]+";
      assertTrue(Pattern.matches(" 4096 +100 " + number.repeat(3), lines.get(2)), write.out());
      assertTrue(Pattern.matches(" 65536 +100 " + number.repeat(3), lines.get(3)), write.out());
      assertTrue(lines.get(lines.size() - 1).startsWith("EMULATED: "), write.out());

      ToolProcess latency =
          rail("bench", server.peer(), "--op=write", "--latency", "--size=2,64", "--iterations=50");
      assertEquals(0, latency.exitCode(), latency.err());
      List<String> rows = latency.out().lines().toList();
      assertTrue(rows.get(0).startsWith("EMULATED: write latency"), latency.out());
      assertEquals(
          " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]"
              + "    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] ",
          rows.get(1));
      assertTrue(Pattern.matches(" 2 +50 " + number.repeat(7) + " *", rows.get(2)), latency.out());
      assertTrue(Pattern.matches(" 64 +50 " + number.repeat(7) + " *", rows.get(3)), latency.out());

      ToolProcess read =
          rail("bench", server.peer(), "--writable", "--latency", "--iterations=50", "--json");
      assertEquals(0, read.exitCode(), read.err());
      JsonNode result = JSON.readTree(read.out()).get("results").get(0);
      assertEquals(64, result.get("bytes").asInt());
      assertTrue(result.get("t_min_usec").asDouble() > 0, read.out());
      assertTrue(
          result.get("t_typical_usec").asDouble() <= result.get("t_max_usec").asDouble(),
          read.out());
    }
  }

  @Test
  void takesTheRailsThatTheEnvironmentDescribes() throws Exception {
    String[] serve = ToolProcess.onEmulator("rail", "serve", "--arena=1M", "--for=1", "--tier=kv");
    ToolProcess one = ToolProcess.run(Map.of("METRALE_EXPERT_RDMA_DEV", "mlx5_1"), serve);
    assertTrue(one.out().contains("on 1 rails: mlx5_1 "), one.out() + one.err());
    ToolProcess wrong =
        ToolProcess.run(
            Map.of("METRALE_EXPERT_RDMA_DEV", "mlx5_1", "METRALE_EXPERT_RDMA_GID", "first"), serve);
    failed(wrong, "METRALE_EXPERT_RDMA_GID");
    ToolProcess named =
        ToolProcess.run(
            Map.of("METRALE_EXPERT_RDMA_DEV", "mlx5_1"),
            ToolProcess.onEmulator(
                "rail", "serve", "--arena=1M", "--for=1", "--tier=kv", "--device=mlx5_0:3"));
    assertTrue(named.out().contains("on 1 rails: mlx5_0 "), named.out() + named.err());
  }

  @Test
  @Tag("native")
  void saysWhatIsMissingWhereThereIsNoRdma() throws Exception {
    Map<String, String> nothing = Map.of("METRALE_IBVERBS_PATH", folder + "/nothing");
    failed(
        ToolProcess.run(nothing, "rail", "serve", "--arena=1M"),
        "libibverbs is not here",
        "install rdma-core",
        "--emulated");
  }
}
