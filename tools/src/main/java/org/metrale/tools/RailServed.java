package org.metrale.tools;

import com.google.errorprone.annotations.MustBeClosed;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32C;
import org.metrale.gpu.rail.HandshakeConnection;
import org.metrale.gpu.rail.MessageFormat;
import org.metrale.gpu.rail.RailMemory;
import org.metrale.gpu.rail.RailService;
import org.metrale.gpu.rail.RailSet;
import org.metrale.gpu.rail.RailShare;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.verbs.VerbsException;
import org.metrale.gpu.wire.ManifestDialect;
import org.metrale.gpu.wire.ModelRequest;
import org.metrale.gpu.wire.PagingHeader;
import org.metrale.gpu.wire.RailDialect;
import org.metrale.gpu.wire.TransportMode;

/** What a peer serves: registered memory, and how clients are let at it. */
final class RailServed implements AutoCloseable {
  /** One region, and one tensor of the manifest: clients in use read at most 4 GiB at once. */
  private static final long PART_BYTES = 1L << 30;

  private final List<RailMemory> memory;
  private final RailService service;
  private final AtomicLong refused;
  private final String title;
  private final long bytes;

  private RailServed(
      List<RailMemory> memory, RailService service, AtomicLong refused, String title) {
    this.memory = memory;
    this.service = service;
    this.refused = refused;
    this.title = title;
    this.bytes = memory.stream().mapToLong(RailMemory::lengthBytes).sum();
  }

  /** A file, mapped and never written; as many regions as it has parts. */
  @MustBeClosed
  @SuppressWarnings("MustBeClosed") // close() closes the memory
  static RailServed file(RailSet rails, Path file, boolean checksums) throws ToolException {
    List<RailMemory> memory = new ArrayList<>();
    List<RailManifest.Shard> shards = new ArrayList<>();
    AtomicBoolean copied = new AtomicBoolean();
    String name = file.getFileName().toString();
    try (FileChannel in = FileChannel.open(file, StandardOpenOption.READ)) {
      long bytes = in.size();
      long parts = (bytes + PART_BYTES - 1) / PART_BYTES;
      for (long part = 0; part < parts; part++) {
        long from = part * PART_BYTES;
        long length = Math.min(PART_BYTES, bytes - from);
        MappedByteBuffer mapped = in.map(FileChannel.MapMode.READ_ONLY, from, length);
        memory.add(registered(rails, mapped, copied));
        String title = parts == 1 ? name : String.format("%s-%05d-of-%05d", name, part + 1, parts);
        Optional<Integer> sum = checksums ? Optional.of(crc32c(mapped)) : Optional.empty();
        shards.add(new RailManifest.Shard(title, length, sum));
      }
      RailManifest manifest = new RailManifest(name, shards, true);
      AtomicLong refused = new AtomicLong();
      return new RailServed(
          memory,
          new FileService(manifest, memory, refused),
          refused,
          file + (copied.get() ? ", copied to memory" : ""));
    } catch (IOException e) {
      memory.forEach(RailMemory::close);
      throw new ToolException(file + " cannot be mapped: " + Messages.io(e), e);
    } catch (RuntimeException e) {
      memory.forEach(RailMemory::close);
      throw e;
    }
  }

  /** The mapping itself, or a copy where the kernel does not pin such mappings, as 6.1. */
  @SuppressWarnings("MustBeClosed") // close() closes the memory
  private static RailMemory registered(RailSet rails, ByteBuffer mapped, AtomicBoolean copied) {
    try {
      return RailMemory.of(rails, mapped, VerbsAccess.REMOTE_READ);
    } catch (VerbsException e) {
      if (!e.symbol().equals("EFAULT")) {
        throw e;
      }
    }
    RailMemory copy = RailMemory.allocate(rails, mapped.remaining(), VerbsAccess.REMOTE_READ);
    copy.write(0, mapped.duplicate());
    copied.set(true);
    return copy;
  }

  private static int crc32c(ByteBuffer bytes) {
    CRC32C sum = new CRC32C();
    sum.update(bytes.duplicate());
    return (int) sum.getValue();
  }

  /** Zeroed memory that all clients share. */
  @MustBeClosed
  @SuppressWarnings("MustBeClosed") // close() closes the memory
  static RailServed arena(RailSet rails, long bytes, boolean writable) {
    VerbsAccess access = writable ? VerbsAccess.READ_WRITE : VerbsAccess.REMOTE_READ;
    List<RailMemory> memory = List.of(RailMemory.allocate(rails, bytes, access));
    AtomicLong refused = new AtomicLong();
    if (writable) {
      return new RailServed(memory, new ArenaService(memory.get(0), refused), refused, "an arena");
    }
    RailManifest.Shard shard = new RailManifest.Shard("arena", bytes, Optional.empty());
    RailManifest manifest = new RailManifest("arena", List.of(shard), true);
    return new RailServed(memory, new FileService(manifest, memory, refused), refused, "an arena");
  }

  List<RailMemory> memory() {
    return memory;
  }

  RailService service() {
    return service;
  }

  String title() {
    return title;
  }

  long bytes() {
    return bytes;
  }

  /** How many clients asked for what is not served. */
  long refusedSoFar() {
    return refused.get();
  }

  boolean isWritable() {
    return service.dialect().equals(RailDialect.READ_WRITE);
  }

  @Override
  public void close() {
    memory.forEach(RailMemory::close);
  }

  /** The weight peers' way: a name, a manifest, a mode, memory to read. */
  private record FileService(RailManifest manifest, List<RailMemory> memory, AtomicLong refused)
      implements RailService {
    @Override
    public RailDialect dialect() {
      return RailDialect.READ_ONLY;
    }

    @Override
    public RailShare greet(HandshakeConnection connection) throws IOException {
      String wanted =
          connection
              .receive(MessageFormat.of(ModelRequest::missing, ModelRequest::decode))
              .modelId();
      if (!wanted.equals(RailSession.ANY_FILE) && !wanted.equals(manifest.model())) {
        refused.incrementAndGet();
        throw new IOException(
            "it asked for \"" + Messages.printable(wanted) + "\"; served is " + manifest.model());
      }
      connection.send(ManifestDialect.WEIGHT.encode(manifest.encode()));
      connection.receive(
          MessageFormat.ofLength(
              TransportMode.BYTES,
              bytes -> TransportMode.decode(bytes).require(Set.of(TransportMode.VERBS))));
      return RailShare.of(memory);
    }
  }

  /** The cache peers' way, without paging: a header, memory to read and write. */
  private record ArenaService(RailMemory arena, AtomicLong refused) implements RailService {
    @Override
    public RailDialect dialect() {
      return RailDialect.READ_WRITE;
    }

    @Override
    public RailShare greet(HandshakeConnection connection) throws IOException {
      PagingHeader header =
          connection
              .receive(MessageFormat.of(PagingHeader::missing, PagingHeader::decode))
              .requireServable(false);
      if (header.arenaBytes() > arena.lengthBytes()) {
        refused.incrementAndGet();
        throw new IOException(
            "it asked for " + header.arenaBytes() + " bytes of " + arena.lengthBytes());
      }
      return RailShare.of(List.of(arena));
    }
  }
}
