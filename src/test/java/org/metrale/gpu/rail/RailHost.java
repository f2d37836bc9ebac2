package org.metrale.gpu.rail;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Random;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.verbs.VerbsPath;
import org.metrale.gpu.wire.RailDialect;

/** A server with an arena, and what a test opens beside it. */
final class RailHost implements AutoCloseable {
  static final Duration LIMIT = Duration.ofSeconds(20);

  /** A machine that is emulated, on a host that is busy, takes its time for a handshake. */
  static final RailServerOptions PATIENT =
      RailServerOptions.loopback()
          .withLimits(
              RailServerOptions.DEFAULT_CONNECTIONS, Duration.ofMinutes(2), MemoryLedger.of(0));

  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  final RailSet serverRails;
  final RailSet clientRails;
  final RailMemory arena;
  final RailServer server;
  final RailDialect dialect;

  @SuppressWarnings("MustBeClosed") // close() does
  RailHost(List<String> serverDevices, List<String> clientDevices, long bytes, RailDialect dialect)
      throws Exception {
    this.dialect = dialect;
    serverRails = keep(RailSet.open(specs(serverDevices)));
    clientRails = keep(RailSet.open(specs(clientDevices)));
    VerbsAccess access =
        dialect.equals(RailDialect.READ_ONLY) ? VerbsAccess.REMOTE_READ : VerbsAccess.READ_WRITE;
    arena = keep(RailMemory.allocate(serverRails, bytes, access));
    server =
        keep(
            RailServer.start(serverRails, service(dialect, RailShare.of(List.of(arena))), PATIENT));
  }

  /** Half a second of patience would be long for a test that waits for it. */
  static List<RailSpec> specs(List<String> devices) {
    return devices.stream()
        .map(name -> RailSpec.of(name).withPath(VerbsPath.DEFAULT.withPatience(15, 3)))
        .toList();
  }

  static RailService service(RailDialect dialect, RailShare share) {
    return new RailService() {
      @Override
      public RailDialect dialect() {
        return dialect;
      }

      @Override
      public RailShare greet(HandshakeConnection connection) {
        return share;
      }
    };
  }

  RailClient client() {
    return RailClient.to(server.address(), dialect).rebuilding(false);
  }

  @SuppressWarnings("MustBeClosed") // close() does
  ConnectedRails connect(RailClient client) throws Exception {
    return keep(client.connect(clientRails, LIMIT));
  }

  @SuppressWarnings("MustBeClosed") // close() does
  RailMemory memory(long bytes) {
    return keep(RailMemory.allocate(clientRails, bytes, VerbsAccess.LOCAL_WRITE));
  }

  <T extends AutoCloseable> T keep(T resource) {
    open.push(resource);
    return resource;
  }

  /** Bytes that are the same for the same seed. */
  static ByteBuffer bytes(long seed, int length) {
    byte[] out = new byte[length];
    new Random(seed).nextBytes(out);
    return ByteBuffer.wrap(out);
  }

  static ByteBuffer read(RailMemory memory, long offset, int length) {
    ByteBuffer out = ByteBuffer.allocate(length);
    memory.read(offset, out);
    return out.flip();
  }

  @Override
  public void close() throws Exception {
    while (!open.isEmpty()) {
      open.pop().close();
    }
  }
}
