package org.metrale.gpu.nccl;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.Objects;

/**
 * Hands rank 0's id to all ranks over TCP.
 *
 * <p>Rank 0 listens, by default on the loopback address alone; the others connect, trying again
 * until the deadline. A connection counts only if it says who it is: a port scanner, a rank of
 * another job, a rank that is there already is turned away, is told why where it speaks the
 * protocol, and takes nobody's place. With a secret both sides prove that they know it
 * (HMAC-SHA-256 over fresh numbers of both) before the id is sent. Nobody gets the id before all
 * ranks are there, so no rank waits in NCCL for one that never came.
 *
 * <p>The id is not encrypted: on a network where others listen, use a tunnel.
 *
 * <p><b>Threading:</b> immutable; one exchange at a time and address.
 */
public final class NcclTcpBootstrap {
  private final InetSocketAddress address;
  private final Duration timeout;
  private final byte[] secret;

  private NcclTcpBootstrap(InetSocketAddress address, Duration timeout, byte[] secret) {
    this.address = address;
    this.timeout = timeout;
    this.secret = secret;
  }

  /**
   * Uses a port of the loopback address, for ranks on one host.
   *
   * @param port where rank 0 listens, from 1 to 65535
   * @param timeout until when all ranks must be there
   * @return the bootstrap
   * @throws IllegalArgumentException if there is no such port
   */
  public static NcclTcpBootstrap onLoopback(int port, Duration timeout) {
    return at(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), timeout);
  }

  /**
   * Uses an address that the others can reach.
   *
   * @param address where rank 0 listens and the others connect to
   * @param timeout until when all ranks must be there
   * @return the bootstrap
   * @throws IllegalArgumentException if the port is 0
   */
  public static NcclTcpBootstrap at(InetSocketAddress address, Duration timeout) {
    Objects.requireNonNull(address, "address");
    Objects.requireNonNull(timeout, "timeout");
    if (address.getPort() == 0) {
      throw new IllegalArgumentException("all ranks must know the port: 0 is none");
    }
    return new NcclTcpBootstrap(address, timeout, new byte[0]);
  }

  /**
   * The same with a secret that all ranks must know.
   *
   * @param shared at least one character
   * @return the bootstrap
   * @throws IllegalArgumentException if it is empty
   */
  public NcclTcpBootstrap withSecret(String shared) {
    if (shared.isEmpty()) {
      throw new IllegalArgumentException("an empty secret protects nothing");
    }
    return new NcclTcpBootstrap(address, timeout, shared.getBytes(UTF_8));
  }

  /**
   * Makes the id (rank 0) or receives it.
   *
   * <p><b>Blocking:</b> until all ranks are there, at most the timeout.
   *
   * @param ranks how many ranks there are, the same everywhere
   * @param rank which one this is
   * @return the id
   * @throws IOException if not all ranks came in time (naming those that are missing), or this rank
   *     was turned away (saying why)
   * @throws IllegalArgumentException if the rank is not one of the ranks
   * @throws NcclException if rank 0 cannot make an id
   */
  public NcclUniqueId agree(int ranks, int rank) throws IOException {
    if (ranks < 1 || rank < 0 || rank >= ranks) {
      throw new IllegalArgumentException("rank " + rank + " is not one of " + ranks + " ranks");
    }
    return rank == 0
        ? give(NcclUniqueId.create(), ranks)
        : NcclUniqueId.of(new RendezvousClient(address, timeout, secret).take(ranks, rank));
  }

  /**
   * Hands out an id that exists already; for rank 0.
   *
   * @param id what to hand out
   * @param ranks how many ranks there are
   * @return the same id, once all ranks have it
   * @throws IOException if not all ranks came in time
   */
  public NcclUniqueId give(NcclUniqueId id, int ranks) throws IOException {
    if (ranks > 1) {
      new RendezvousServer(address, timeout, secret, ranks).give(id.toBytes());
    }
    return id;
  }
}
