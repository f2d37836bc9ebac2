package org.metrale.gpu.rail;

import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.metrale.gpu.rail.HandshakeException.Fault;
import org.metrale.gpu.rail.HandshakeException.Reason;
import org.metrale.gpu.wire.RailDialect;
import org.metrale.gpu.wire.WireFormatException;

/**
 * What a handshake is held under.
 *
 * @param peer the other side's name, for messages only
 * @param dialect the record format of the service
 * @param deadline when the whole handshake must be over
 */
public record HandshakeTerms(String peer, RailDialect dialect, Deadline deadline) {
  /** Where a refusal without a reason is explained. */
  static final String REFUSAL_HINT =
      "the peer's log: the preamble it was sent, its number of rails, its memory ceiling"
          + " (--max-blade-gb), its paging folder (--swap-dir), its devices";

  private static final String PEER_LOG = "the peer's log";

  /**
   * Refuses nulls.
   *
   * @param peer the other side's name, for messages only
   * @param dialect the record format of the service
   * @param deadline when the whole handshake must be over
   */
  public HandshakeTerms {
    Objects.requireNonNull(peer, "peer");
    Objects.requireNonNull(dialect, "dialect");
    Objects.requireNonNull(deadline, "deadline");
  }

  /** The failure that an event amounts to in any state; {@code due} is what was awaited. */
  Optional<HandshakeException> ending(HandshakeEvent event, long nowNanos, Supplier<Fault> due) {
    if (event instanceof HandshakeEvent.LocalFault fault) {
      return Optional.of(localFault(fault));
    }
    if (event instanceof HandshakeEvent.Cancelled) {
      String hint = "who interrupted it";
      return Optional.of(failure(Reason.INTERRUPTED, due.get(), "an interrupt", hint));
    }
    if (event instanceof HandshakeEvent.Expired || deadline.hasPassed(nowNanos)) {
      String hint = "whether the peer still runs and can be reached";
      return Optional.of(failure(Reason.DEADLINE_PASSED, due.get(), "nothing in time", hint));
    }
    if (event instanceof HandshakeEvent.Ended) {
      return Optional.of(new HandshakeException(peer, due.get()));
    }
    if (event instanceof HandshakeEvent.Broken broken) {
      return Optional.of(new HandshakeException(peer, due.get(), broken.cause()));
    }
    return Optional.empty();
  }

  /** What it amounts to if the connection ends where {@code field} is due. */
  static Fault endAt(String field) {
    return new Fault(Reason.TRUNCATED, field, "it", "the end of the connection", PEER_LOG);
  }

  /** What it amounts to if the connection ends where the server's answer is due. */
  static Fault refusal(int wantedRails) {
    return new Fault(
        Reason.PEER_REJECTED,
        "railCount",
        Integer.toString(wantedRails),
        "the end of the connection",
        REFUSAL_HINT);
  }

  /** The failure behind bytes that are not a message. */
  HandshakeException malformed(WireFormatException e) {
    return new HandshakeException(peer, Fault.of(e), e);
  }

  private HandshakeException localFault(HandshakeEvent.LocalFault fault) {
    String hint = "this side; the peer is not to blame";
    String got = fault.cause().toString();
    return new HandshakeException(
        peer, new Fault(Reason.LOCAL_FAULT, fault.step(), "success", got, hint), fault.cause());
  }

  private HandshakeException failure(Reason reason, Fault due, String got, String lookAt) {
    return new HandshakeException(peer, new Fault(reason, due.field(), due.wanted(), got, lookAt));
  }

  /** What had arrived and what has arrived now, as one buffer; refuses more than was wanted. */
  static ByteBuffer join(ByteBuffer soFar, ByteBuffer bytes, int wantedBytes) {
    if (!bytes.hasRemaining() || bytes.remaining() > wantedBytes) {
      throw new IllegalArgumentException(
          "bytes: wanted 1 to " + wantedBytes + ", got " + bytes.remaining());
    }
    ByteBuffer joined = ByteBuffer.allocate(soFar.remaining() + bytes.remaining());
    return joined.put(soFar.duplicate()).put(bytes).flip().asReadOnlyBuffer();
  }

  /** Nothing, yet. */
  static ByteBuffer nothing() {
    return ByteBuffer.allocate(0).asReadOnlyBuffer();
  }

  /** An event that cannot happen there. */
  static IllegalStateException outOfOrder(HandshakeState<?> state, HandshakeEvent event) {
    return new IllegalStateException(
        event.getClass().getSimpleName() + " cannot happen in " + state.getClass().getSimpleName());
  }
}
