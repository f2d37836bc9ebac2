package org.metrale.gpu.wire;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** The byte-exact vectors of the formats, and the values that they stand for. */
public final class GoldenVectors {
  private static final JsonNode ROOT = load();

  private GoldenVectors() {}

  /** One part of the file, such as {@code rejects}. */
  public static JsonNode part(String name) {
    return ROOT.path(name);
  }

  /** The entries of one part. */
  public static Stream<JsonNode> entries(String name) {
    return StreamSupport.stream(ROOT.path(name).spliterator(), false);
  }

  public static ByteBuffer bytes(String hex) {
    return ByteBuffer.wrap(HexFormat.of().parseHex(hex)).asReadOnlyBuffer();
  }

  public static ByteBuffer bytes(JsonNode hex) {
    return bytes(hex.textValue());
  }

  public static String hex(ByteBuffer bytes) {
    byte[] out = new byte[bytes.remaining()];
    bytes.duplicate().get(out);
    return HexFormat.of().formatHex(out);
  }

  public static RemoteQp remoteQp(JsonNode value) {
    return new RemoteQp(
        value.path("qpn").longValue(),
        value.path("psn").longValue(),
        Gid.of(HexFormat.of().parseHex(value.path("gidHex").textValue())));
  }

  public static ClientRecord client(JsonNode value) {
    return new ClientRecord(remoteQp(value));
  }

  public static RoServerRecord roServer(JsonNode value) {
    List<Region> regions = new ArrayList<>();
    value.path("regions").forEach(region -> regions.add(region(region)));
    return new RoServerRecord(remoteQp(value), regions);
  }

  public static RwServerRecord rwServer(JsonNode value) {
    return new RwServerRecord(remoteQp(value), region(value));
  }

  /** The server's frame of a transcript. */
  public static ServerFrame serverFrame(JsonNode transcript) {
    List<JsonNode> server = list(transcript.path("server"));
    return dialect(transcript) == RailDialect.READ_ONLY
        ? new RoRailFrame(server.stream().map(GoldenVectors::roServer).toList())
        : new RwRailFrame(server.stream().map(GoldenVectors::rwServer).toList());
  }

  /** The client's records of a transcript. */
  public static List<ClientRecord> clients(JsonNode transcript) {
    return list(transcript.path("client")).stream().map(GoldenVectors::client).toList();
  }

  public static RailDialect dialect(JsonNode transcript) {
    return transcript.path("dialect").textValue().equals("RO")
        ? RailDialect.READ_ONLY
        : RailDialect.READ_WRITE;
  }

  private static Region region(JsonNode value) {
    return new Region(
        Long.parseUnsignedLong(value.path("baseHex").textValue(), 16),
        Long.parseLong(value.path("rkeyHex").textValue(), 16));
  }

  private static List<JsonNode> list(JsonNode array) {
    return StreamSupport.stream(array.spliterator(), false).toList();
  }

  private static JsonNode load() {
    try (InputStream in = GoldenVectors.class.getResourceAsStream("/org/metrale/gpu/golden.json")) {
      return new ObjectMapper().readTree(in);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
