package org.metrale.gpu.rail;

import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * One state of a handshake: what has to happen next, and what any event leads to.
 *
 * <p>A state has a flight to send, or wants bytes, or waits for this side to do something, or is
 * final. States are immutable; the same event at the same time always leads to the same state.
 *
 * @param <S> the states of one machine
 */
public sealed interface HandshakeState<S extends HandshakeState<S>>
    permits ClientHandshake, ServerHandshake {
  /**
   * The state that an event leads to.
   *
   * @param event what happened
   * @param nowNanos when, on the scale of {@link System#nanoTime()}; from the deadline on every
   *     event but a local fault ends the handshake as late
   * @return the next state
   * @throws IllegalStateException if this event cannot happen in this state; the table of the
   *     machine says which can
   * @throws IllegalArgumentException if more bytes are said to have arrived than were wanted
   */
  S on(HandshakeEvent event, long nowNanos);

  /**
   * What is to be sent now, with one write.
   *
   * @return a read-only view of the whole flight, or nothing if there is nothing to send
   */
  default Optional<ByteBuffer> flight() {
    return Optional.empty();
  }

  /**
   * How many bytes are to be read now. They belong to this handshake for certain; a driver that
   * reads no more leaves whatever follows on the stream.
   *
   * @return the number of bytes, or 0 if nothing is to be read
   */
  default int wantedBytes() {
    return 0;
  }

  /**
   * Why the handshake came to nothing.
   *
   * @return the failure, or nothing unless this is the final state of a failed handshake
   */
  default Optional<HandshakeException> failure() {
    return Optional.empty();
  }

  /**
   * Whether no event is expected any more.
   *
   * @return true for the states of a finished handshake
   */
  default boolean isFinal() {
    return false;
  }
}
