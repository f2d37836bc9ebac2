package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What needs no rails. */
class RailPartsTest {
  @TempDir private Path folder;

  @Test
  void readsAddresses() {
    assertEquals(
        new RailAddress("host", 7, Optional.empty(), Optional.empty()),
        RailAddress.parse("host:7"));
    assertEquals(
        new RailAddress("10.0.0.1", 65535, Optional.of("/models/a b"), Optional.of("x.bin")),
        RailAddress.parse("rail://10.0.0.1:65535//models/a%20b#x.bin"));
    assertEquals("::1", RailAddress.parse("[::1]:9").socket().getHostString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"", "host", "host:", "host:0", "host:65536", ":5", "a b:5", "host:5?x", "u@h:5"})
  void refusesWhatIsNoAddress(String text) {
    assertThrows(IllegalArgumentException.class, () -> RailAddress.parse(text));
  }

  @Test
  void readsBackWhatItTellsOfItsFiles() throws Exception {
    RailManifest manifest =
        new RailManifest(
            "model \"x\"",
            List.of(
                new RailManifest.Shard("a-00001-of-00002", 1L << 30, Optional.of(-2)),
                new RailManifest.Shard("a-00002-of-00002", 3, Optional.of(7))),
            true);
    assertEquals(manifest, RailManifest.decode(manifest.encode()));
  }

  @Test
  void readsAManifestOfADeployedPeer() throws Exception {
    String text =
        "{\"version\":1,\"model_id\":\"m\",\"shard_files\":[\"a\",\"b\"],\"shard_lens\":[5,6],"
            + "\"tensors\":[]}";
    RailManifest manifest = RailManifest.decode(bytes(text));
    assertFalse(manifest.wholeFile());
    assertEquals(11, manifest.bytes());
    assertEquals(Optional.empty(), manifest.shards().get(0).crc32c());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "[",
        "null",
        "{}",
        "{\"version\":2,\"shard_files\":[\"a\"],\"shard_lens\":[1]}",
        "{\"version\":1,\"shard_files\":[],\"shard_lens\":[]}",
        "{\"version\":1,\"shard_files\":[\"a\"],\"shard_lens\":[1,2]}",
        "{\"version\":1,\"shard_files\":[\"a\"],\"shard_lens\":[-1]}",
        "{\"version\":1,\"shard_files\":[\"a\"],\"shard_lens\":[18446744073709551615]}",
        "{\"version\":1,\"shard_files\":[1],\"shard_lens\":[1]}",
        "{\"version\":1,\"shard_files\":[\"a\"],\"shard_lens\":[\"1\"]}",
        "{\"version\":1,\"shard_files\":[\"a\",\"b\"],"
            + "\"shard_lens\":[9223372036854775807,9223372036854775807]}"
      })
  void refusesAManifestThatCannotBe(String text) {
    assertThrows(ToolException.class, () -> RailManifest.decode(bytes(text)));
  }

  private static ByteBuffer bytes(String text) {
    return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
  }

  @Test
  void survivesManifestsOfAnyBytes() {
    RailManifest manifest =
        new RailManifest("m", List.of(new RailManifest.Shard("a", 5, Optional.of(1))), true);
    SplittableRandom random = new SplittableRandom(3);
    for (int i = 0; i < 20_000; i++) {
      ByteBuffer bytes = manifest.encode();
      for (int change = random.nextInt(1, 4); change > 0; change--) {
        bytes.put(random.nextInt(bytes.limit()), (byte) random.nextInt());
      }
      try {
        assertTrue(RailManifest.decode(bytes).bytes() >= 0);
      } catch (ToolException e) {
        assertTrue(e.getMessage().contains("manifest"), e.getMessage());
      }
    }
  }

  @Test
  void givesAFileItsNameOnlyWhenItIsComplete() throws Exception {
    Path target = folder.resolve("file");
    try (PartialFile part = PartialFile.create(target)) {
      part.write(bytes("half"));
      assertFalse(Files.exists(target));
    }
    try (var left = Files.list(folder)) {
      assertEquals(0, left.count());
    }
    try (PartialFile part = PartialFile.create(target)) {
      part.write(bytes("whole"));
      part.keep();
    }
    assertEquals("whole", Files.readString(target));
    try (var left = Files.list(folder)) {
      assertEquals(1, left.count());
    }
  }

  @Test
  void objectsToTargetsThatCannotBe() {
    assertTrue(PartialFile.problem(folder).contains("is a folder"));
    assertTrue(PartialFile.problem(folder.resolve("no/file")).contains("there is no folder"));
    assertTrue(PartialFile.problem(Path.of("/dev/null")).contains("no regular file"));
    assertEquals(null, PartialFile.problem(folder.resolve("file")));
  }

  @Test
  void computesWhatPerftestComputes() {
    // Two a second on average; the last two lie within half a second of each other.
    long[] posted = {0, 0, 1_500_000_000L, 1_500_000_000L};
    long[] completed = {1_000_000_000L, 1_400_000_000L, 1_750_000_000L, 2_000_000_000L};
    assertEquals(4.0, RailBench.peak(posted, completed), 1e-9);
    double[] micros = new double[1000];
    for (int i = 0; i < micros.length; i++) {
      micros[i] = micros.length - i;
    }
    RailBench.Latency latency = RailBench.summary(64, micros);
    assertEquals(1, latency.least());
    assertEquals(1000, latency.most());
    assertEquals(501, latency.typical());
    assertEquals(500.5, latency.average(), 1e-9);
    assertEquals(991, latency.percentile99());
    assertEquals(1000, latency.percentile999());
  }
}
