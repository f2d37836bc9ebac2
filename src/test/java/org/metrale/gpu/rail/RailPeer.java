package org.metrale.gpu.rail;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.RailDialect;

/**
 * A server in a process of its own, which can be told to die at a given moment.
 *
 * <p>Arguments: dialect, bytes of the arena, when to die, devices. The arena holds {@link
 * #pattern}. Prints its port, then answers lines of its input: {@code sum OFFSET LENGTH} with a
 * checksum, {@code state} with clients and descriptors. Ends with its input.
 */
public final class RailPeer {
  private RailPeer() {}

  /** When a peer ends itself. */
  enum Death {
    NEVER,
    IN_PREAMBLE,
    BEFORE_OFFER,
    BEFORE_ACK,
    AFTER_ACK
  }

  /** The byte of the arena at an offset. */
  static byte pattern(long offset) {
    return (byte) (offset * 31 + (offset >>> 8) * 17 + (offset >>> 20));
  }

  static void fill(RailMemory memory) {
    byte[] chunk = new byte[1 << 16];
    for (long at = 0; at < memory.lengthBytes(); at += chunk.length) {
      int count = (int) Math.min(chunk.length, memory.lengthBytes() - at);
      for (int i = 0; i < count; i++) {
        chunk[i] = pattern(at + i);
      }
      memory.write(at, ByteBuffer.wrap(chunk, 0, count));
    }
  }

  /** A checksum of part of a memory. */
  static long sum(RailMemory memory, long offset, long length) {
    java.util.zip.CRC32C crc = new java.util.zip.CRC32C();
    ByteBuffer chunk = ByteBuffer.allocate(1 << 20);
    for (long done = 0; done < length; done += chunk.limit()) {
      chunk.clear().limit((int) Math.min(chunk.capacity(), length - done));
      memory.read(offset + done, chunk);
      crc.update(chunk.flip());
    }
    return crc.getValue();
  }

  /** Runs it. */
  public static void main(String[] arguments) throws Exception {
    RailDialect dialect = RailDialect.valueOf(arguments[0]);
    long bytes = Long.parseLong(arguments[1]);
    Death death = Death.valueOf(arguments[2]);
    List<String> devices = List.of(arguments).subList(3, arguments.length);
    VerbsAccess access =
        dialect.equals(RailDialect.READ_ONLY) ? VerbsAccess.REMOTE_READ : VerbsAccess.READ_WRITE;
    try (RailSet rails = RailSet.open(RailHost.specs(devices));
        RailMemory arena = RailMemory.allocate(rails, bytes, access);
        RailServer server =
            RailServer.start(
                rails,
                new Mortal(dialect, RailShare.of(List.of(arena)), death),
                RailServerOptions.loopback())) {
      fill(arena);
      say("port " + server.address().getPort());
      answer(arena, server);
    }
  }

  private static void answer(RailMemory arena, RailServer server) throws IOException {
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    String line = in.readLine();
    while (line != null) {
      String[] words = line.split(" ");
      if (words[0].equals("sum")) {
        say("sum " + sum(arena, Long.parseLong(words[1]), Long.parseLong(words[2])));
      } else {
        say("state " + server.clients() + " " + Descriptors.open());
      }
      line = in.readLine();
    }
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  /** A service that ends the process. */
  private record Mortal(RailDialect dialect, RailShare share, Death death) implements RailService {
    @Override
    public RailShare greet(HandshakeConnection connection) throws IOException {
      if (death.equals(Death.IN_PREAMBLE)) {
        Runtime.getRuntime().halt(9);
      }
      if (death.equals(Death.BEFORE_OFFER) || death.equals(Death.BEFORE_ACK)) {
        connection.accept(new Half());
      }
      return share;
    }

    @Override
    public void serve(HandshakeTransport transport) throws IOException, InterruptedException {
      if (death.equals(Death.AFTER_ACK)) {
        Runtime.getRuntime().halt(9);
      }
      RailService.super.serve(transport);
    }

    /** Half a handshake. */
    private final class Half implements ServerRails {
      @Override
      public int available() {
        return 2;
      }

      @Override
      public org.metrale.gpu.wire.ServerFrame prepare(int rails) {
        if (death.equals(Death.BEFORE_OFFER)) {
          Runtime.getRuntime().halt(9);
        }
        return Fixtures.offer(dialect, rails, 1);
      }

      @Override
      public void connect(int railIndex, RemoteQueuePair remote) {
        Runtime.getRuntime().halt(9);
      }
    }
  }
}
