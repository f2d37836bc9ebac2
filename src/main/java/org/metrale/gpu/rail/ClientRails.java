package org.metrale.gpu.rail;

import java.io.IOException;
import java.util.List;
import java.util.Optional;
import org.metrale.gpu.wire.ServerFrame;

/**
 * What a client brings to a handshake: queue pairs that exist, and how to connect them.
 *
 * <p>Everything that can fail on this side alone (device, queue pairs, memory) has been done before
 * the first byte is sent; that is why this object already has its rails.
 *
 * <p><b>Threading:</b> called by the thread that runs the handshake.
 *
 * <p><b>Ownership:</b> a handshake that fails closes nothing of this; whoever made the queue pairs
 * closes them, connected or not.
 */
public interface ClientRails {
  /**
   * This side's queue pairs.
   *
   * @return one per rail, 1 to 8, in the order of the rails
   */
  List<LocalQueuePair> locals();

  /**
   * What speaks against the server's offer, such as a number of regions that does not fit the
   * manifest. Asked before anything more is sent.
   *
   * @param offer what the server offers
   * @return an objection in words, or nothing to go on
   */
  default Optional<String> objection(ServerFrame offer) {
    return Optional.empty();
  }

  /**
   * Connects one queue pair until it can send and receive.
   *
   * @param railIndex which one, from 0
   * @param remote the server's queue pair
   * @throws IOException if it cannot; an unchecked exception means the same
   */
  void connect(int railIndex, RemoteQueuePair remote) throws IOException;
}
