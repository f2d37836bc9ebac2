package org.metrale.tools;

import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.zip.CRC32C;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.rail.RailTarget;
import org.metrale.gpu.wire.PagingHeader;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Reads what a peer serves into a file. */
@Command(
    name = "get",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Reads what a peer serves by RDMA READs over all rails and puts it into FILE, which appears"
          + " only when it is complete and replaces one of that name.",
      "The CRC-32C of what arrived is compared with the peer's, if the peer tells one (`rail serve"
          + " --file` does) and the whole is read."
    },
    footer = "Exit code 0, 1 if it did not work, 2 for wrong arguments.")
final class RailGetCommand implements Callable<Integer> {
  private static final int MOST_LISTED = 10;

  @Parameters(
      index = "0",
      paramLabel = "PEER",
      converter = RailAddress.Converter.class,
      description =
          "HOST:PORT, or rail://HOST:PORT/MODEL#FILE for one file of a model at a weight peer.")
  private RailAddress peer;

  @Parameters(index = "1", paramLabel = "FILE", description = "The file to make.")
  private Path file;

  @Option(
      names = "--offset",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      defaultValue = "0",
      description = "Where to begin (default: ${DEFAULT-VALUE}).")
  private long offset;

  @Option(
      names = "--length",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      description = "How much to read (default: all there is; needed with --writable).")
  private Long length;

  @Option(
      names = "--writable",
      description =
          "The peer serves an arena to write to (`rail serve --writable`, or a cache peer), which"
              + " tells no length.")
  private boolean writable;

  @Mixin private RailPeerOptions options;
  @Mixin private EmulatorOptions emulatorOptions;
  @Spec private CommandSpec spec;

  /** For the parser of arguments. */
  RailGetCommand() {}

  @Override
  public Integer call() throws Exception {
    check();
    AutoCloseable emulator = emulatorOptions.startIfWanted();
    try {
      if (writable) {
        RailSession.Arena arena = new RailSession.Arena(offset + length);
        try (RailSession session =
            RailSession.open(
                options.rails().open(), options.timeout(), peer, arena, RailCopy.MEMORY_BYTES)) {
          fetch(session, List.of(new Part(0, offset, length, Optional.empty())));
        }
      } else {
        RailSession.Files files = new RailSession.Files(peer.model());
        try (RailSession session =
            RailSession.open(
                options.rails().open(), options.timeout(), peer, files, RailCopy.MEMORY_BYTES)) {
          fetch(session, parts(files.manifest()));
        }
      }
    } finally {
      emulator.close();
    }
    return 0;
  }

  private void check() {
    String problem = options.problem();
    if (problem == null) {
      problem = PartialFile.problem(file);
    }
    if (problem == null && length != null && length < 1) {
      problem = "--length " + length + ": expected at least 1";
    }
    if (problem == null && writable && length == null) {
      problem = "--writable needs --length: such a peer does not tell how much there is";
    }
    if (problem == null && writable && offset > PagingHeader.MAX_ARENA_BYTES - length) {
      problem = "--offset and --length: expected at most " + PagingHeader.MAX_ARENA_BYTES;
    }
    if (problem == null && writable && (peer.model().isPresent() || peer.file().isPresent())) {
      problem = "--writable takes no name: an arena is one piece of memory";
    }
    if (problem != null) {
      throw new ParameterException(spec.commandLine(), problem);
    }
  }

  /**
   * A range of one of the peer's regions.
   *
   * @param crc32c what its checksum must be, if that is known
   */
  private record Part(int region, long offset, long bytes, Optional<Integer> crc32c) {}

  /** Which ranges of which regions make up what was asked for. */
  private List<Part> parts(RailManifest manifest) throws ToolException {
    List<RailManifest.Shard> shards = manifest.shards();
    int first = peer.file().isPresent() ? named(manifest) : 0;
    int end = peer.file().isPresent() ? first + 1 : shards.size();
    if (peer.file().isEmpty() && !manifest.wholeFile()) {
      String model = Messages.printable(manifest.model());
      throw new ToolException(
          peer + " has " + listed(shards) + ": name one (rail://" + peer + "/" + model + "#FILE)");
    }
    long all = shards.subList(first, end).stream().mapToLong(RailManifest.Shard::bytes).sum();
    long wanted = length == null ? all - offset : length;
    if (wanted < 1 || offset > all - wanted) {
      String what = length == null ? "what follows" : wanted + " bytes from";
      throw new ToolException(
          "asked for " + what + " offset " + offset + ", and " + peer + " has " + all + " bytes");
    }
    List<Part> out = new ArrayList<>();
    long start = 0;
    for (int i = first; i < end; i++) {
      long bytes = shards.get(i).bytes();
      long from = Math.max(0, offset - start);
      long to = Math.min(bytes, offset + wanted - start);
      if (from < to) {
        boolean isWhole = from == 0 && to == bytes;
        out.add(new Part(i, from, to - from, isWhole ? shards.get(i).crc32c() : Optional.empty()));
      }
      start += bytes;
    }
    return out;
  }

  private int named(RailManifest manifest) throws ToolException {
    List<RailManifest.Shard> shards = manifest.shards();
    int found = shards.stream().map(RailManifest.Shard::name).toList().indexOf(peer.file().get());
    if (found < 0) {
      throw new ToolException(
          peer + " has no file " + peer.file().get() + " but " + listed(shards));
    }
    return found;
  }

  private static String listed(List<RailManifest.Shard> shards) {
    List<String> names = shards.stream().limit(MOST_LISTED).map(RailManifest.Shard::name).toList();
    return shards.size()
        + " files: "
        + Messages.printable(String.join(", ", names))
        + (shards.size() > MOST_LISTED ? ", ..." : "");
  }

  private void fetch(RailSession session, List<Part> parts)
      throws ToolException, InterruptedException {
    long bytes = parts.stream().mapToLong(Part::bytes).sum();
    long started = System.nanoTime();
    CRC32C whole = new CRC32C();
    RailCopy copy = new RailCopy(session, options.timeout());
    try (PartialFile out = PartialFile.create(file)) {
      try (Progress progress = Progress.ofBytes("get", bytes, options.showsProgress())) {
        long before = 0;
        for (Part part : parts) {
          long base = before;
          CRC32C sum = new CRC32C();
          copy.read(
              new RailCopy.Range(new RailTarget(part.region(), part.offset()), part.bytes()),
              window -> {
                sum.update(window.duplicate());
                whole.update(window.duplicate());
                out.write(window);
              },
              done -> progress.to(base + done));
          compare(part, (int) sum.getValue());
          before += part.bytes();
        }
      }
      out.keep();
    }
    boolean verified = parts.stream().allMatch(part -> part.crc32c().isPresent());
    report(session, bytes, System.nanoTime() - started, (int) whole.getValue(), verified);
  }

  private void compare(Part part, int sum) throws ToolException {
    if (part.crc32c().isPresent() && part.crc32c().get() != sum) {
      throw new ToolException(
          "what arrived is not what "
              + peer
              + " has: CRC-32C "
              + Checksum.text(sum)
              + ", expected "
              + Checksum.text(part.crc32c().get())
              + "; was the file changed while it is served?");
    }
  }

  private void report(RailSession session, long bytes, long nanos, int sum, boolean verified) {
    PrintWriter out = spec.commandLine().getOut();
    if (options.json()) {
      Map<String, Object> line = new LinkedHashMap<>();
      line.put("command", "get");
      line.put("emulated", NativeLibrary.IBVERBS.isEmulated());
      line.put("level", RailOptions.level(session.rails().specs()));
      line.put("peer", peer.toString());
      line.put("file", file.toString());
      line.put("bytes", bytes);
      line.put("nanoseconds", nanos);
      line.put("bytes_per_second", Math.round(bytes * 1e9 / nanos));
      line.put("crc32c", Checksum.text(sum));
      line.put("verified", verified);
      line.put("rails", session.railsToJson());
      out.println(Json.write(line));
    } else {
      out.printf(
          "%sgot %s: %s in %s, %s; CRC-32C %s, %s%n",
          RailOptions.mark(),
          file,
          Quantities.bytes(bytes),
          Quantities.nanos(nanos),
          Quantities.bandwidth(bytes * 1e9 / nanos),
          Checksum.text(sum),
          verified ? "as the peer says" : "not verified: the peer tells none for this");
      out.printf("rails: %s%n", session.railsInWords());
    }
    out.flush();
  }
}
