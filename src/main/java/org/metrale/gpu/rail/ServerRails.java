package org.metrale.gpu.rail;

import java.io.IOException;
import org.metrale.gpu.wire.ServerFrame;

/**
 * What a server brings to a handshake: how many rails it has, and how to make and connect them.
 *
 * <p><b>Threading:</b> called by the thread that runs the handshake.
 *
 * <p><b>Ownership:</b> a handshake that fails closes nothing of this; whoever made queue pairs and
 * registered memory closes them, connected or not.
 */
public interface ServerRails {
  /**
   * How many rails a client may ask for.
   *
   * @return 1 or more; above 8 counts as 8
   */
  int available();

  /**
   * Makes queue pairs and registers memory, all before the first byte is sent.
   *
   * @param rails how many rails the client wants, 1 to {@link #available()}
   * @return what the client is to be told, one record per rail, in this service's dialect
   * @throws IOException if it cannot; an unchecked exception means the same
   */
  ServerFrame prepare(int rails) throws IOException;

  /**
   * Connects one queue pair until it can send and receive.
   *
   * @param railIndex which one, from 0
   * @param remote the client's queue pair
   * @throws IOException if it cannot; an unchecked exception means the same
   */
  void connect(int railIndex, RemoteQueuePair remote) throws IOException;
}
