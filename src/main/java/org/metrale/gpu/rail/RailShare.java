package org.metrale.gpu.rail;

import java.util.List;

/**
 * What one client is offered.
 *
 * @param shared memory that is registered on the server's own rails and that other clients are
 *     offered too; its owner keeps it open while the server runs
 * @param apart memory that is registered for this client alone, in protection domains of its own,
 *     which no other client's connection can reach
 */
public record RailShare(List<RailMemory> shared, List<RailBuffer> apart) {
  /**
   * Copies the lists.
   *
   * @param shared memory that is registered on the server's own rails
   * @param apart memory that is registered for this client alone
   * @throws IllegalArgumentException if there is nothing in them, or something in both
   */
  public RailShare {
    shared = List.copyOf(shared);
    apart = List.copyOf(apart);
    if (shared.isEmpty() == apart.isEmpty()) {
      throw new IllegalArgumentException("wanted memory that is shared or memory that is not");
    }
  }

  /**
   * Memory that all clients share.
   *
   * @param memory the regions, in order
   * @return the share
   */
  public static RailShare of(List<RailMemory> memory) {
    return new RailShare(memory, List.of());
  }

  /**
   * Memory for this client alone.
   *
   * @param buffers the regions, in order; kept valid until the connection is over
   * @return the share
   */
  public static RailShare apart(List<RailBuffer> buffers) {
    return new RailShare(List.of(), buffers);
  }

  /**
   * How much the client costs the server.
   *
   * @return bytes that are registered for it alone
   */
  public long ownBytes() {
    return apart.stream().mapToLong(RailBuffer::lengthBytes).sum();
  }
}
