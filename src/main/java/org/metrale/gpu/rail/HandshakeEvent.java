package org.metrale.gpu.rail;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Objects;
import org.metrale.gpu.wire.ServerFrame;

/** What can happen to a handshake. */
public sealed interface HandshakeEvent {
  /** The flight that the state had to send is on its way, whole. */
  record Sent() implements HandshakeEvent {}

  /**
   * Bytes arrived.
   *
   * @param bytes one or more bytes, no more than the state wanted; only read
   */
  record Received(ByteBuffer bytes) implements HandshakeEvent {
    /**
     * Takes a read-only view.
     *
     * @param bytes one or more bytes, no more than the state wanted; only read
     */
    public Received {
      bytes = bytes.slice().asReadOnlyBuffer();
    }

    /**
     * The bytes that arrived.
     *
     * @return a read-only view of its own
     */
    @Override
    public ByteBuffer bytes() {
      return bytes.duplicate();
    }
  }

  /** The peer closed its side; nothing more will come. */
  record Ended() implements HandshakeEvent {}

  /**
   * The connection broke: reset, refused write, any failure of the stream.
   *
   * @param cause what the stream said
   */
  record Broken(IOException cause) implements HandshakeEvent {
    /**
     * Refuses null.
     *
     * @param cause what the stream said
     */
    public Broken {
      Objects.requireNonNull(cause, "cause");
    }
  }

  /** The deadline passed while waiting. */
  record Expired() implements HandshakeEvent {}

  /** The thread that runs the handshake was interrupted. */
  record Cancelled() implements HandshakeEvent {}

  /**
   * This server made its queue pairs and registered its memory.
   *
   * @param offer what the client is to be told, one record per rail
   */
  record Prepared(ServerFrame offer) implements HandshakeEvent {
    /**
     * Refuses null.
     *
     * @param offer what the client is to be told, one record per rail
     */
    public Prepared {
      Objects.requireNonNull(offer, "offer");
    }
  }

  /** All of this side's queue pairs are connected and can receive. */
  record Connected() implements HandshakeEvent {}

  /**
   * This client does not want what the server offers.
   *
   * @param objection why, in words
   */
  record Declined(String objection) implements HandshakeEvent {
    /**
     * Refuses null.
     *
     * @param objection why, in words
     */
    public Declined {
      Objects.requireNonNull(objection, "objection");
    }
  }

  /**
   * Something failed on this side.
   *
   * @param step what was being done, such as {@code connecting rail 1 of 2}
   * @param cause what it failed with
   */
  record LocalFault(String step, Exception cause) implements HandshakeEvent {
    /**
     * Refuses nulls.
     *
     * @param step what was being done, such as {@code connecting rail 1 of 2}
     * @param cause what it failed with
     */
    public LocalFault {
      Objects.requireNonNull(step, "step");
      Objects.requireNonNull(cause, "cause");
    }
  }
}
