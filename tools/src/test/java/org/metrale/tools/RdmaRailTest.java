package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * The commands on real devices, two rails of Soft-RoCE in a machine of their own: each rail has a
 * device at the client's end, the a, and one at the server's, the b.
 */
@Tag("rdma")
@Timeout(600)
class RdmaRailTest {
  private static final ObjectMapper JSON = new ObjectMapper();

  /** No whole number of anything. */
  private static final int BYTES = 8_000_003;

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
    new SplittableRandom(7).nextBytes(bytes);
    Files.write(source, bytes);
    return bytes;
  }

  private static ServingProcess serving(String... arguments) throws IOException {
    return ServingProcess.onDevices(
        Stream.concat(
                Stream.of("--device=rxe_r0b", "--device=rxe_r1b", "--timeout=60"),
                Stream.of(arguments))
            .toArray(String[]::new));
  }

  private static String[] arguments(String command, String... arguments) {
    return Stream.concat(
            Stream.of("rail", command, "--device=rxe_r0a", "--device=rxe_r1a"),
            Stream.of(arguments))
        .toArray(String[]::new);
  }

  private static ToolProcess rail(String command, String... arguments) throws Exception {
    String[] all = arguments(command, arguments);
    return ToolProcess.run(
        Stream.concat(Stream.of(all), Stream.of("--timeout=60")).toArray(String[]::new));
  }

  private List<Path> made() throws IOException {
    try (Stream<Path> files = Files.list(target.getParent())) {
      return files.toList();
    }
  }

  /** It said in a line why it failed. */
  private static void failed(ToolProcess process, String... words) {
    assertEquals(1, process.exitCode(), process.out() + process.err());
    assertEquals(1, process.err().lines().count(), process.err());
    for (String word : words) {
      assertTrue(process.err().contains(word), process.err());
    }
  }

  /** What went over both rails and was compared with the peer's checksum. */
  private static void verified(ToolProcess process) throws IOException {
    assertEquals(0, process.exitCode(), process.out() + process.err());
    JsonNode told = JSON.readTree(process.out());
    assertTrue(told.get("verified").asBoolean(), process.out());
    assertFalse(told.get("emulated").asBoolean(), process.out());
    assertEquals(BYTES, told.get("bytes").asInt(), process.out());
    assertEquals(2, told.get("rails").size(), process.out());
    for (JsonNode rail : told.get("rails")) {
      assertTrue(rail.get("carried_bytes").asLong() > 0, process.out());
      assertEquals(0, rail.get("failures").asInt(), process.out());
    }
  }

  @Test
  void aFileIsReadAndNotWritten() throws Exception {
    byte[] bytes = data();
    try (ServingProcess server = serving("--file=" + source)) {
      assertFalse(server.beginning().get("emulated").asBoolean());
      assertFalse(server.beginning().get("writable").asBoolean());
      verified(rail("get", server.peer(), target.toString(), "--json"));
      assertArrayEquals(bytes, Files.readAllBytes(target));

      Files.writeString(target, "old");
      failed(rail("put", source.toString(), server.peer()), "if it serves read-only");
      failed(
          ToolProcess.run("rail", "get", server.peer(), target.toString(), "--device=rxe_r7a"),
          "no RDMA device is called rxe_r7a; there are [",
          "rxe_r0a");
      failed(
          rail("get", server.peer(), target.toString(), "--length=9000000"),
          "has " + BYTES + " bytes");
      server.terminate();
      assertEquals(0, server.exitCode());
      // One of them got rails before it knew that there is not that much.
      assertEquals(2, server.ending().get("connected").asInt());
      failed(rail("get", server.peer(), target.toString()), server.peer(), "refused");
      assertEquals("old", Files.readString(target));
      assertEquals(List.of(target), made());
    }
    assertArrayEquals(bytes, Files.readAllBytes(source));
  }

  @Test
  void anArenaIsWrittenReadAndMeasured() throws Exception {
    byte[] bytes = data();
    try (ServingProcess server = serving("--arena=16M", "--writable")) {
      assertTrue(server.beginning().get("writable").asBoolean());
      verified(rail("put", source.toString(), server.peer(), "--offset=4097", "--json"));
      String length = "--length=" + BYTES;
      ToolProcess get =
          rail("get", server.peer(), target.toString(), "--writable", "--offset=4097", length);
      assertEquals(0, get.exitCode(), get.err());
      assertArrayEquals(bytes, Files.readAllBytes(target));

      ToolProcess write =
          rail("bench", server.peer(), "--op=write", "--size=4K,64K", "--iterations=100");
      assertEquals(0, write.exitCode(), write.err());
      List<String> lines = write.out().lines().toList();
      assertTrue(lines.get(0).contains("Soft-RoCE"), write.out());
      assertEquals(
          " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]",
          lines.get(1));
      String number = " +[0-9]+\\.[0-9]+";
      assertTrue(Pattern.matches(" 4096 +100 " + number.repeat(3), lines.get(2)), write.out());
      assertTrue(Pattern.matches(" 65536 +100 " + number.repeat(3), lines.get(3)), write.out());

      assertTrue(isPerftests("ib_write_bw", lines.get(1)), write.out());

      ToolProcess read = rail("bench", server.peer(), "--writable", "--latency", "--iterations=50");
      assertEquals(0, read.exitCode(), read.err());
      List<String> rows = read.out().lines().toList();
      assertTrue(isPerftests("ib_read_lat", rows.get(1)), read.out());
      assertTrue(Pattern.matches(" 64 +50 " + number.repeat(7) + " *", rows.get(2)), read.out());
    }
  }

  /** Whether that program of perftest, as it is installed, has the same line of titles. */
  private static boolean isPerftests(String program, String titles) throws IOException {
    byte[] file = Files.readAllBytes(Path.of("/usr/bin", program));
    return new String(file, StandardCharsets.ISO_8859_1).contains(titles);
  }

  @Test
  void aServerThatIsKilledLeavesTheFileAsItWas() throws Exception {
    try (RandomAccessFile file = new RandomAccessFile(source.toFile(), "rw")) {
      file.setLength(64 << 20);
    }
    Files.writeString(target, "old");
    shape("add", "rate 100mbit limit 100000");
    try (ServingProcess server = serving("--file=" + source, "--no-checksum")) {
      Process get =
          ToolProcess.builder(arguments("get", server.peer(), target.toString(), "--timeout=15"))
              .start();
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
      while (made().size() < 2) {
        assertTrue(get.isAlive() && System.nanoTime() < end, "nothing arrives");
        Thread.sleep(10);
      }
      server.kill();
      assertTrue(get.waitFor(120, TimeUnit.SECONDS));
      String err = new String(get.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
      String out = new String(get.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      failed(new ToolProcess(get.exitValue(), out, err), server.peer(), "does the peer still run?");
      assertEquals("old", Files.readString(target));
      assertEquals(List.of(target), made());
    } finally {
      shape("del", "");
    }
  }

  /** Slows the server's ends down. */
  private static void shape(String what, String how) throws Exception {
    for (int rail = 0; rail < 2; rail++) {
      String command = "tc qdisc " + what + " dev r" + rail + "b root netem " + how;
      Process tc = new ProcessBuilder("/bin/sh", "-c", command).redirectErrorStream(true).start();
      String said = new String(tc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      assertEquals(0, tc.waitFor(), command + ": " + said);
    }
  }

  @Test
  void theDemoRunsOnThem() throws Exception {
    ToolProcess demo = ToolProcess.run("demo", "--only=rails", "--deadline=60");
    assertEquals(0, demo.exitCode(), demo.out() + demo.err());
    List<String> lines = demo.out().strip().lines().toList();
    Pattern beginning =
        Pattern.compile("^rails: .* on 2 rails: rxe_\\w+, rxe_\\w+ \\(Soft-RoCE\\)");
    assertTrue(beginning.matcher(lines.get(0)).find(), demo.out());
    for (String row : List.of("READ ", "WRITE ", "READ, rail 1 cut ", "READ, rail 1 back ")) {
      Pattern right = Pattern.compile("^" + row + ".* [0-9a-f]{8} right$", Pattern.MULTILINE);
      assertTrue(right.matcher(demo.out()).find(), demo.out());
    }
    assertTrue(lines.get(lines.size() - 1).startsWith("everything was right"), demo.out());
  }
}
