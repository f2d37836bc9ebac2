package org.metrale.tools;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.metrale.gpu.wire.WireCounts;

/**
 * What a weight peer tells of its files: the format's own fields, and two that its readers pass
 * over, {@code shard_crc32c} and {@code whole_file}.
 *
 * @param model the name of the whole
 * @param wholeFile whether the shards are the parts of one file, in order
 */
record RailManifest(String model, List<Shard> shards, boolean wholeFile) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int VERSION = 1;

  /**
   * One file of the model, or one part of the file.
   *
   * @param crc32c its checksum, if the peer tells it
   */
  record Shard(String name, long bytes, Optional<Integer> crc32c) {}

  RailManifest {
    shards = List.copyOf(shards);
  }

  long bytes() {
    return shards.stream().mapToLong(Shard::bytes).sum();
  }

  ByteBuffer encode() {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("version", VERSION);
    out.put("model_id", model);
    out.put("shard_files", shards.stream().map(Shard::name).toList());
    out.put("shard_lens", shards.stream().map(Shard::bytes).toList());
    List<Object> tensors = new ArrayList<>();
    for (int i = 0; i < shards.size(); i++) {
      Map<String, Object> tensor = new LinkedHashMap<>();
      tensor.put("name", shards.get(i).name());
      tensor.put("dtype", "U8");
      tensor.put("shape", List.of(shards.get(i).bytes()));
      tensor.put("offset_in_shard", 0);
      tensor.put("len", shards.get(i).bytes());
      tensor.put("shard_index", i);
      tensor.put("extra", false);
      tensors.add(tensor);
    }
    out.put("tensors", tensors);
    out.put("whole_file", wholeFile);
    if (shards.stream().allMatch(shard -> shard.crc32c().isPresent())) {
      out.put(
          "shard_crc32c",
          shards.stream().map(shard -> Checksum.text(shard.crc32c().orElseThrow())).toList());
    }
    return ByteBuffer.wrap(Json.write(out).getBytes(StandardCharsets.UTF_8));
  }

  /** Reads one; what is wrong with it is said in words. */
  static RailManifest decode(ByteBuffer bytes) throws ToolException {
    try {
      JsonNode root = JSON.readTree(StandardCharsets.UTF_8.decode(bytes).toString());
      JsonNode names = root.path("shard_files");
      JsonNode lengths = root.path("shard_lens");
      JsonNode sums = root.path("shard_crc32c");
      if (root.path("version").asInt(0) != VERSION) {
        throw wrong("its version is " + root.path("version") + ", expected " + VERSION);
      }
      if (!names.isArray() || !lengths.isArray() || names.size() != lengths.size()) {
        throw wrong("shard_files and shard_lens are not lists of one length");
      }
      if (names.isEmpty() || names.size() > WireCounts.MAX_REGIONS) {
        throw wrong("it has " + names.size() + " files");
      }
      List<Shard> shards = new ArrayList<>();
      long all = 0;
      for (int i = 0; i < names.size(); i++) {
        JsonNode told = lengths.get(i);
        long length = told.isIntegralNumber() && told.canConvertToLong() ? told.asLong() : -1;
        all += Math.max(0, length);
        if (length < 0 || all < 0 || !names.get(i).isTextual()) {
          throw wrong(
              "file "
                  + i
                  + " is "
                  + Messages.printable(names.get(i).toString())
                  + " of "
                  + told
                  + " bytes");
        }
        Optional<Integer> sum =
            sums.isArray() && sums.size() == names.size()
                ? Checksum.parse(sums.get(i).asText())
                : Optional.empty();
        shards.add(new Shard(names.get(i).asText(), length, sum));
      }
      boolean whole = shards.size() == 1 || root.path("whole_file").asBoolean(false);
      return new RailManifest(root.path("model_id").asText(), shards, whole);
    } catch (JsonProcessingException e) {
      throw new ToolException("the peer's manifest is no JSON: " + e.getOriginalMessage(), e);
    }
  }

  private static ToolException wrong(String what) {
    return new ToolException("the peer's manifest cannot be used: " + what);
  }
}
