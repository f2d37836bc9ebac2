package org.metrale.tools;

import com.google.errorprone.annotations.MustBeClosed;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.metrale.gpu.rail.ConnectedRails;
import org.metrale.gpu.rail.HandshakeConnection;
import org.metrale.gpu.rail.HandshakeException;
import org.metrale.gpu.rail.MessageFormat;
import org.metrale.gpu.rail.RailClient;
import org.metrale.gpu.rail.RailMemory;
import org.metrale.gpu.rail.RailPreamble;
import org.metrale.gpu.rail.RailSet;
import org.metrale.gpu.rail.RailStatus;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.ManifestDialect;
import org.metrale.gpu.wire.ModelRequest;
import org.metrale.gpu.wire.PagingHeader;
import org.metrale.gpu.wire.PagingKind;
import org.metrale.gpu.wire.RailDialect;
import org.metrale.gpu.wire.TransportMode;

/** Rails that are connected to a peer, and this side's memory on them. */
final class RailSession implements AutoCloseable {
  /**
   * The name of whatever one file a peer serves. Longer than a cache's header, so that a cache
   * refuses it at once instead of waiting for the rest of it.
   */
  static final String ANY_FILE = "metrale rail: the one file";

  /** Held here, since the log manager would forget its level; what rails did is in the result. */
  private static final Logger LIBRARY_LOG = Logger.getLogger("org.metrale.gpu.rail");

  private final RailSet rails;
  private final RailMemory memory;
  private final ConnectedRails connected;

  private RailSession(RailSet rails, RailMemory memory, ConnectedRails connected) {
    this.rails = rails;
    this.memory = memory;
    this.connected = connected;
  }

  /** How to begin with one of the two services. */
  interface Service {
    RailDialect dialect();

    RailPreamble preamble();

    /** How long the peer's regions are; known once the preamble is over. */
    List<Long> regionBytes();

    /** What to look at if the peer refuses. */
    String hint();
  }

  /** A peer that tells what it serves and lets it be read. */
  static final class Files implements Service {
    private final String model;
    private RailManifest manifest;

    Files(Optional<String> model) {
      this.model = model.orElse(ANY_FILE);
    }

    @Override
    public RailDialect dialect() {
      return RailDialect.READ_ONLY;
    }

    @Override
    public RailPreamble preamble() {
      return this::exchange;
    }

    private void exchange(HandshakeConnection connection) throws IOException {
      connection.send(new ModelRequest(model).encode());
      ByteBuffer bytes =
          connection.receive(
              MessageFormat.of(ManifestDialect.WEIGHT::missing, ManifestDialect.WEIGHT::decode));
      RailManifest told;
      try {
        told = RailManifest.decode(bytes);
      } catch (ToolException e) {
        throw new IOException(e.getMessage(), e);
      }
      if (manifest != null && !manifest.equals(told)) {
        throw new IOException("the peer serves something else than before");
      }
      manifest = told;
      connection.send(TransportMode.VERBS.encode());
    }

    @Override
    public List<Long> regionBytes() {
      return manifest.shards().stream().map(RailManifest.Shard::bytes).toList();
    }

    @Override
    public String hint() {
      return "a peer of files closes the connection if it does not have "
          + (model.equals(ANY_FILE) ? "exactly one file (name it: rail://HOST:PORT/NAME)" : model)
          + " or has fewer rails (--rails); one with an arena to write to needs --writable";
    }

    /** What the peer told; known once connected. */
    RailManifest manifest() {
      return manifest;
    }
  }

  /** A peer with an arena that can be read and written. */
  record Arena(long bytes) implements Service {
    @Override
    public RailDialect dialect() {
      return RailDialect.READ_WRITE;
    }

    @Override
    public RailPreamble preamble() {
      return connection -> connection.send(new PagingHeader(PagingKind.KV, bytes, 0).encode());
    }

    @Override
    public List<Long> regionBytes() {
      return List.of(bytes);
    }

    @Override
    public String hint() {
      return "a peer closes the connection if it serves read-only, has an arena of less than "
          + bytes
          + " bytes, or has fewer rails (--rails)";
    }
  }

  /**
   * Makes this side's memory, and only then calls the peer.
   *
   * @param rails the rails, which are closed with this, or now if it fails
   */
  @MustBeClosed
  @SuppressWarnings("MustBeClosed") // close() closes them
  static RailSession open(
      RailSet rails, Duration timeout, RailAddress peer, Service service, long memoryBytes)
      throws ToolException {
    LIBRARY_LOG.setLevel(Level.WARNING);
    RailMemory memory = null;
    try {
      memory = RailMemory.allocate(rails, memoryBytes, VerbsAccess.LOCAL_WRITE);
      RailClient client =
          RailClient.to(peer.socket(), service.dialect())
              .saying(service.preamble())
              .knowing(service::regionBytes)
              // Both services of ours offer the same memory to every connection.
              .rebuilding(true);
      return new RailSession(rails, memory, client.connect(rails, timeout));
    } catch (HandshakeException e) {
      closeAll(memory, rails);
      throw new ToolException(e.getMessage() + hint(e, service), e);
    } catch (IOException e) {
      closeAll(memory, rails);
      throw new ToolException(peer + " cannot be used: " + Messages.brief(e), e);
    } catch (RuntimeException e) {
      closeAll(memory, rails);
      throw e;
    }
  }

  private static void closeAll(RailMemory memory, RailSet rails) {
    if (memory != null) {
      memory.close();
    }
    rails.close();
  }

  private static String hint(HandshakeException e, Service service) {
    return switch (e.reason()) {
      case PEER_REJECTED, TRUNCATED, RAIL_COUNT_MISMATCH -> " (" + service.hint() + ")";
      case RAIL_COUNT_OUT_OF_RANGE,
          REGION_COUNT_OUT_OF_RANGE,
          LENGTH_OUT_OF_RANGE,
          NOT_UTF8,
          MALFORMED ->
          " (is it a rail peer at all, and of this kind?)";
      default -> "";
    };
  }

  ConnectedRails connected() {
    return connected;
  }

  RailMemory memory() {
    return memory;
  }

  RailSet rails() {
    return rails;
  }

  /** How each rail did, for tables and JSON. */
  List<Object> railsToJson() {
    List<Object> out = new ArrayList<>();
    for (RailStatus status : connected.status()) {
      Map<String, Object> one = new LinkedHashMap<>();
      one.put("device", status.device());
      one.put("state", status.state().name());
      one.put("carried_bytes", status.carriedBytes());
      one.put("failures", status.failures());
      one.put("last_fault", status.lastFault());
      out.add(one);
    }
    return out;
  }

  /** What the rails carried, in words. */
  String railsInWords() {
    List<String> out = new ArrayList<>();
    for (RailStatus status : connected.status()) {
      String failed = status.failures() == 0 ? "" : ", failed " + status.failures() + " times";
      out.add(status.device() + " " + Quantities.bytes(status.carriedBytes()) + failed);
    }
    return String.join("; ", out);
  }

  @Override
  public void close() {
    // Rails first: a transfer that was given up holds on to the memory until they are down.
    try (rails;
        memory) {
      connected.close();
    }
  }
}
