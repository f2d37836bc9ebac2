package org.metrale.gpu.rail;

import java.io.IOException;

/** What a client says, and is told, before the handshake of the rails. */
@FunctionalInterface
public interface RailPreamble {
  /** Nothing. */
  RailPreamble NONE = connection -> {};

  /**
   * Exchanges the preamble.
   *
   * @param connection what it is sent and received on
   * @throws IOException if it comes to nothing
   */
  void exchange(HandshakeConnection connection) throws IOException;
}
