package org.metrale.gpu.rail;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;

/**
 * How a {@link RailServer} listens.
 *
 * @param address where; port 0 for any
 * @param clients which addresses it talks to
 * @param maxConnections how many clients at the same time, from 1
 * @param handshakeTimeout how long preamble and handshake may take
 * @param ledger what memory for clients alone is charged to
 * @param layer what is laid over each connection, such as TLS; its own handshake happens with the
 *     first bytes, within the time limit of the rails'
 */
public record RailServerOptions(
    InetSocketAddress address,
    AddressFilter clients,
    int maxConnections,
    Duration handshakeTimeout,
    MemoryLedger ledger,
    SocketLayer layer) {
  /** How many clients if nothing else is set. */
  public static final int DEFAULT_CONNECTIONS = 64;

  /**
   * Checks the limits.
   *
   * @param address where; port 0 for any
   * @param clients which addresses it talks to
   * @param maxConnections how many clients at the same time, from 1
   * @param handshakeTimeout how long preamble and handshake may take
   * @param ledger what memory for clients alone is charged to
   * @param layer what is laid over each connection, such as TLS
   * @throws IllegalArgumentException if the number of connections is below 1, or no time is given
   */
  public RailServerOptions {
    Objects.requireNonNull(address, "address");
    Objects.requireNonNull(clients, "clients");
    Objects.requireNonNull(handshakeTimeout, "handshakeTimeout");
    Objects.requireNonNull(ledger, "ledger");
    Objects.requireNonNull(layer, "layer");
    if (handshakeTimeout.isNegative() || handshakeTimeout.isZero()) {
      throw new IllegalArgumentException("handshakeTimeout: wanted some, got " + handshakeTimeout);
    }
    if (maxConnections < 1) {
      throw new IllegalArgumentException("maxConnections: wanted 1 or more, got " + maxConnections);
    }
  }

  /**
   * Any port of the loopback interface.
   *
   * @return options that let in this machine only
   */
  public static RailServerOptions loopback() {
    return new RailServerOptions(
        new InetSocketAddress(InetAddress.getLoopbackAddress(), 0),
        AddressFilter.anyone(),
        DEFAULT_CONNECTIONS,
        Duration.ofSeconds(10),
        MemoryLedger.of(0),
        SocketLayer.NONE);
  }

  /**
   * The same at another address, for given clients.
   *
   * @param where the address
   * @param who which addresses it talks to
   * @return the options
   */
  public RailServerOptions at(InetSocketAddress where, AddressFilter who) {
    return new RailServerOptions(where, who, maxConnections, handshakeTimeout, ledger, layer);
  }

  /**
   * The same with other limits.
   *
   * @param connections how many clients at the same time, from 1
   * @param timeout how long preamble and handshake may take
   * @param memory what memory for clients alone is charged to
   * @return the options
   */
  public RailServerOptions withLimits(int connections, Duration timeout, MemoryLedger memory) {
    return new RailServerOptions(address, clients, connections, timeout, memory, layer);
  }

  /**
   * The same over TLS, or whatever else lies over TCP.
   *
   * @param other what is laid over each connection
   * @return the options
   */
  public RailServerOptions over(SocketLayer other) {
    return new RailServerOptions(address, clients, maxConnections, handshakeTimeout, ledger, other);
  }
}
