package org.metrale.tools;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.Map;
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

/** Writes a file into a peer's arena. */
@Command(
    name = "put",
    mixinStandardHelpOptions = true,
    sortOptions = false,
    description = {
      "Writes FILE by RDMA WRITEs over all rails into the arena of a peer (`rail serve"
          + " --writable`), then reads all of it back and compares the CRC-32C.",
      "The peer's memory is written in place: if this fails, what was there is partly overwritten."
    },
    footer = "Exit code 0, 1 if it did not work, 2 for wrong arguments.")
final class RailPutCommand implements Callable<Integer> {
  @Parameters(index = "0", paramLabel = "FILE", description = "The file to read; never written.")
  private Path file;

  @Parameters(
      index = "1",
      paramLabel = "PEER",
      converter = RailAddress.Converter.class,
      description = "HOST:PORT.")
  private RailAddress peer;

  @Option(
      names = "--offset",
      paramLabel = "SIZE",
      converter = SizeConverter.class,
      defaultValue = "0",
      description = "Where in the arena (default: ${DEFAULT-VALUE}).")
  private long offset;

  @Mixin private RailPeerOptions options;
  @Mixin private EmulatorOptions emulatorOptions;
  @Spec private CommandSpec spec;

  /** For the parser of arguments. */
  RailPutCommand() {}

  @Override
  public Integer call() throws Exception {
    long bytes = check();
    AutoCloseable emulator = emulatorOptions.startIfWanted();
    try (FileChannel in = open()) {
      try (RailSession session =
          RailSession.open(
              options.rails().open(),
              options.timeout(),
              peer,
              new RailSession.Arena(offset + bytes),
              RailCopy.MEMORY_BYTES)) {
        copy(session, in, bytes);
      }
    } finally {
      emulator.close();
    }
    return 0;
  }

  private long check() throws IOException {
    String problem = options.problem();
    if (problem == null && (peer.model().isPresent() || peer.file().isPresent())) {
      problem = "an arena has no names: expected HOST:PORT";
    }
    if (problem == null && !Files.exists(file)) {
      problem = file + " does not exist";
    }
    if (problem == null && (!Files.isRegularFile(file) || !Files.isReadable(file))) {
      problem = file + " is not a regular file that can be read";
    }
    long bytes = problem == null ? Files.size(file) : 0;
    if (problem == null && bytes == 0) {
      problem = file + " is empty: there is nothing to write";
    }
    if (problem == null && offset > PagingHeader.MAX_ARENA_BYTES - bytes) {
      problem = "--offset " + offset + ": arenas have at most " + PagingHeader.MAX_ARENA_BYTES;
    }
    if (problem != null) {
      throw new ParameterException(spec.commandLine(), problem);
    }
    return bytes;
  }

  private FileChannel open() throws ToolException {
    try {
      return FileChannel.open(file, StandardOpenOption.READ);
    } catch (IOException e) {
      throw new ToolException(file + " cannot be read: " + Messages.io(e), e);
    }
  }

  private void copy(RailSession session, FileChannel in, long bytes)
      throws ToolException, InterruptedException {
    RailCopy.Range range = new RailCopy.Range(new RailTarget(0, offset), bytes);
    RailCopy copy = new RailCopy(session, options.timeout());
    CRC32C sent = new CRC32C();
    CRC32C found = new CRC32C();
    long started = System.nanoTime();
    long written;
    try (Progress progress = Progress.ofBytes("put", 2 * bytes, options.showsProgress())) {
      copy.write(
          range,
          window -> {
            fill(in, window);
            sent.update(window.duplicate().flip());
          },
          progress::to);
      written = System.nanoTime();
      copy.read(range, found::update, done -> progress.to(bytes + done));
    }
    if (sent.getValue() != found.getValue()) {
      throw new ToolException(
          "what "
              + peer
              + " has is not what was written: CRC-32C "
              + Checksum.text((int) found.getValue())
              + ", expected "
              + Checksum.text((int) sent.getValue())
              + "; does somebody else write there?");
    }
    report(session, bytes, new long[] {written - started, System.nanoTime() - written}, sent);
  }

  private void fill(FileChannel in, ByteBuffer window) throws ToolException {
    try {
      while (window.hasRemaining()) {
        if (in.read(window) < 0) {
          throw new ToolException(file + " became shorter while it was read");
        }
      }
    } catch (IOException e) {
      throw new ToolException(file + " cannot be read: " + Messages.io(e), e);
    }
  }

  private void report(RailSession session, long bytes, long[] nanos, CRC32C sum) {
    PrintWriter out = spec.commandLine().getOut();
    String text = Checksum.text((int) sum.getValue());
    if (options.json()) {
      Map<String, Object> line = new LinkedHashMap<>();
      line.put("command", "put");
      line.put("emulated", NativeLibrary.IBVERBS.isEmulated());
      line.put("level", RailOptions.level(session.rails().specs()));
      line.put("peer", peer.toString());
      line.put("file", file.toString());
      line.put("offset", offset);
      line.put("bytes", bytes);
      line.put("nanoseconds", nanos[0]);
      line.put("read_back_nanoseconds", nanos[1]);
      line.put("bytes_per_second", Math.round(bytes * 1e9 / nanos[0]));
      line.put("crc32c", text);
      line.put("verified", true);
      line.put("rails", session.railsToJson());
      out.println(Json.write(line));
    } else {
      out.printf(
          "%sput %s: %s in %s, %s; CRC-32C %s, read back and the same%n",
          RailOptions.mark(),
          file,
          Quantities.bytes(bytes),
          Quantities.nanos(nanos[0]),
          Quantities.bandwidth(bytes * 1e9 / nanos[0]),
          text);
      out.printf("rails: %s%n", session.railsInWords());
    }
    out.flush();
  }
}
