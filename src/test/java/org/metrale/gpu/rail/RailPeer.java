package org.metrale.gpu.rail;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.RailDialect;
import org.metrale.gpu.wire.ServerFrame;

/**
 * A server in a process of its own, which can be told to die at a given moment.
 *
 * <p>Arguments: dialect, bytes of the arena, when to die, devices. The arena holds {@link
 * #pattern}. Prints its port, then answers lines of its input: {@code sum OFFSET LENGTH} with a
 * checksum, {@code state} with clients and what is held. Ends with its input.
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

  /** What the arena repeats; its length divides no piece. */
  private static final ByteBuffer PATTERN = RailHost.bytes(77, 1_048_573);

  private static final byte POISON = (byte) 0xEE;

  /** The arena's bytes from an offset, some of them. */
  static ByteBuffer pattern(long offset, long length) {
    int at = (int) (offset % PATTERN.capacity());
    return PATTERN.slice(at, (int) Math.min(length, PATTERN.capacity() - at));
  }

  static void fill(RailMemory memory) {
    long at = 0;
    while (at < memory.lengthBytes()) {
      ByteBuffer part = pattern(at, memory.lengthBytes() - at);
      at += part.remaining();
      memory.write(at - part.remaining(), part);
    }
  }

  /** Where the first byte is that is not the arena's, or -1. */
  static long mismatch(RailMemory memory, long offset, long arenaOffset, long length) {
    long done = 0;
    while (done < length) {
      ByteBuffer wanted = pattern(arenaOffset + done, length - done);
      int at = RailHost.read(memory, offset + done, wanted.remaining()).mismatch(wanted);
      if (at >= 0) {
        return done + at;
      }
      done += wanted.remaining();
    }
    return -1;
  }

  /** Overwrites a memory, so that what a read does not bring is seen. */
  static void poison(RailMemory memory, long length) {
    byte[] part = new byte[1 << 20];
    Arrays.fill(part, POISON);
    for (long done = 0; done < length; done += part.length) {
      memory.write(done, ByteBuffer.wrap(part, 0, (int) Math.min(part.length, length - done)));
    }
  }

  /** What is wrong with a memory into which the arena was read; empty if nothing is. */
  static String fault(RailMemory memory, long arenaOffset, long length) {
    long at = mismatch(memory, 0, arenaOffset, length);
    if (at < 0) {
      return "";
    }
    ByteBuffer found = RailHost.read(memory, at, (int) Math.min(32, length - at));
    byte[] poison = new byte[found.remaining()];
    Arrays.fill(poison, POISON);
    if (found.equals(ByteBuffer.wrap(poison))) {
      return "nothing came at " + at + " of " + length;
    }
    for (int i = 0; i + found.remaining() <= PATTERN.capacity(); i++) {
      if (PATTERN.slice(i, found.remaining()).equals(found)) {
        return "at " + at + " of " + length + " are the bytes of " + i + " modulo 1048573";
      }
    }
    return "wrong bytes at " + at + " of " + length;
  }

  /** A checksum of part of a memory. */
  static long sum(RailMemory memory, long offset, long length) {
    CRC32 crc = new CRC32();
    ByteBuffer chunk = ByteBuffer.allocateDirect(1 << 20);
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
                new Mortal(dialect, RailShare.of(List.of(arena)), death, rails),
                RailHost.PATIENT)) {
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
        say("state " + server.clients() + " " + Held.now());
      }
      line = in.readLine();
    }
  }

  private static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  /** A service that ends the process. */
  private record Mortal(RailDialect dialect, RailShare share, Death death, RailSet rails)
      implements RailService {
    @Override
    public RailShare greet(HandshakeConnection connection) throws IOException {
      if (death.equals(Death.IN_PREAMBLE)) {
        Runtime.getRuntime().halt(9);
      }
      if (death.equals(Death.BEFORE_OFFER) || death.equals(Death.BEFORE_ACK)) {
        connection.accept(
            new Half(
                death,
                rails.size(),
                new ServedRails(rails, dialect, share, MemoryLedger.of(0), new PacketNumbers())));
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
  }

  /** Half a handshake, with real rails: the client has connected its own when the peer dies. */
  private record Half(Death death, int available, ServedRails served) implements ServerRails {
    @Override
    public ServerFrame prepare(int rails) throws IOException {
      if (death.equals(Death.BEFORE_OFFER)) {
        Runtime.getRuntime().halt(9);
      }
      return served.prepare(rails);
    }

    @Override
    public void connect(int railIndex, RemoteQueuePair remote) {
      served.connect(railIndex, remote);
      if (railIndex == available - 1) {
        Runtime.getRuntime().halt(9);
      }
    }
  }
}
