package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.metrale.gpu.rail.Fixtures.LATE;
import static org.metrale.gpu.rail.Fixtures.NOW;
import static org.metrale.gpu.rail.Fixtures.terms;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.metrale.gpu.rail.HandshakeEvent.Broken;
import org.metrale.gpu.rail.HandshakeEvent.Cancelled;
import org.metrale.gpu.rail.HandshakeEvent.Connected;
import org.metrale.gpu.rail.HandshakeEvent.Declined;
import org.metrale.gpu.rail.HandshakeEvent.Ended;
import org.metrale.gpu.rail.HandshakeEvent.Expired;
import org.metrale.gpu.rail.HandshakeEvent.LocalFault;
import org.metrale.gpu.rail.HandshakeEvent.Prepared;
import org.metrale.gpu.rail.HandshakeEvent.Received;
import org.metrale.gpu.rail.HandshakeEvent.Sent;
import org.metrale.gpu.wire.RailDialect;
import org.metrale.gpu.wire.ServerFrame;

/** Every event in every state of both machines, in both dialects. */
class TransitionTableTest {
  private static final String IMPOSSIBLE = "IllegalStateException";
  private static final ServerFrame RO = Fixtures.offer(RailDialect.READ_ONLY, 1, 2);
  private static final ServerFrame RW = Fixtures.offer(RailDialect.READ_WRITE, 1, 1);

  /** The events, in the order of the table's columns; the last is one that comes too late. */
  private static final List<String> EVENTS =
      List.of(
          "Sent",
          "Received",
          "Prepared",
          "Connected",
          "Declined",
          "Ended",
          "Broken",
          "Expired",
          "Cancelled",
          "LocalFault",
          "Late");

  private static final Map<String, List<String>> CLIENT =
      Map.of(
          "Announcing", row("AwaitingOffer - - - - REJECTED"),
          "AwaitingOffer", row("- AwaitingOffer - - - REJECTED"),
          "AwaitingOffer+", row("- JudgingOffer - - - TRUNCATED"),
          "JudgingOffer", row("- - - Answering OFFER_REFUSED TRUNCATED"),
          "Answering", row("AwaitingAck - - - - TRUNCATED"),
          "AwaitingAck", row("- Established - - - TRUNCATED"),
          "Established", finalRow(),
          "Failed", finalRow());

  private static final Map<String, List<String>> SERVER =
      Map.of(
          "AwaitingCount", row("- Preparing - - - TRUNCATED"),
          "Preparing", row("- - Offering - - TRUNCATED"),
          "Offering", row("AwaitingAnswer - - - - TRUNCATED"),
          "AwaitingAnswer", row("- AwaitingAnswer - - - TRUNCATED"),
          "Connecting", serverConnecting(),
          "Acknowledging", row("Established - - - - TRUNCATED"),
          "Refusing", refusing(),
          "Established", finalRow(),
          "Failed", finalRow());

  static Stream<Arguments> clientTable() {
    return table(CLIENT);
  }

  static Stream<Arguments> serverTable() {
    return table(SERVER);
  }

  @ParameterizedTest(name = "{0} on {1} becomes {2}")
  @MethodSource("clientTable")
  void clientFollowsItsTable(String state, String event, String next) {
    for (RailDialect dialect : RailDialect.values()) {
      assertEquals(next, outcome(clientState(state, dialect), event, clientBytes(state, dialect)));
    }
  }

  @ParameterizedTest(name = "{0} on {1} becomes {2}")
  @MethodSource("serverTable")
  void serverFollowsItsTable(String state, String event, String next) {
    for (RailDialect dialect : RailDialect.values()) {
      ByteBuffer one = ByteBuffer.wrap(new byte[] {1});
      assertEquals(next, outcome(serverState(state, dialect), event, one));
    }
  }

  private static Stream<Arguments> table(Map<String, List<String>> rows) {
    return rows.entrySet().stream()
        .flatMap(
            row ->
                Stream.iterate(0, i -> i + 1)
                    .limit(EVENTS.size())
                    .map(i -> Arguments.of(row.getKey(), EVENTS.get(i), row.getValue().get(i))));
  }

  /** Five columns and what a lost connection amounts to; the rest is the same in most states. */
  private static List<String> row(String columns) {
    List<String> c = List.of(columns.replace("-", IMPOSSIBLE).split(" ", -1));
    String lost = c.get(5).equals("REJECTED") ? "PEER_REJECTED" : c.get(5);
    return List.of(
        c.get(0),
        c.get(1),
        c.get(2),
        c.get(3),
        c.get(4),
        lost,
        lost,
        "DEADLINE_PASSED",
        "INTERRUPTED",
        "LOCAL_FAULT",
        "DEADLINE_PASSED");
  }

  private static List<String> finalRow() {
    return EVENTS.stream().map(event -> IMPOSSIBLE).toList();
  }

  private static List<String> serverConnecting() {
    return List.of(
        IMPOSSIBLE,
        IMPOSSIBLE,
        IMPOSSIBLE,
        "Acknowledging",
        IMPOSSIBLE,
        "TRUNCATED",
        "TRUNCATED",
        "DEADLINE_PASSED",
        "INTERRUPTED",
        "Refusing",
        "DEADLINE_PASSED");
  }

  private static List<String> refusing() {
    String kept = "LOCAL_FAULT";
    return List.of(
        kept, IMPOSSIBLE, IMPOSSIBLE, IMPOSSIBLE, kept, kept, kept, kept, kept, kept, kept);
  }

  /** The next state's name, the reason of a failure, or the exception. */
  private static <S extends HandshakeState<S>> String outcome(
      S state, String event, ByteBuffer bytes) {
    try {
      S next =
          event.equals("Late")
              ? state.on(new Sent(), LATE)
              : state.on(event(event, bytes, state), NOW);
      return next.failure()
          .map(e -> e.reason().name())
          .orElseGet(() -> next.getClass().getSimpleName());
    } catch (IllegalStateException e) {
      return IMPOSSIBLE;
    }
  }

  private static HandshakeEvent event(String name, ByteBuffer bytes, HandshakeState<?> state) {
    return switch (name) {
      case "Sent" -> new Sent();
      case "Received" -> new Received(bytes);
      case "Prepared" -> new Prepared(dialectOf(state) == RailDialect.READ_ONLY ? RO : RW);
      case "Connected" -> new Connected();
      case "Declined" -> new Declined("another model");
      case "Ended" -> new Ended();
      case "Broken" -> new Broken(new IOException("Connection reset"));
      case "Expired" -> new Expired();
      case "Cancelled" -> new Cancelled();
      case "LocalFault" -> new LocalFault("connecting", new IOException("no such device"));
      default -> throw new AssertionError(name);
    };
  }

  private static RailDialect dialectOf(HandshakeState<?> state) {
    return state instanceof ServerHandshake.Preparing preparing
        ? preparing.terms().dialect()
        : RailDialect.READ_ONLY;
  }

  private static ByteBuffer clientBytes(String state, RailDialect dialect) {
    ByteBuffer frame = frame(dialect).encode();
    return switch (state) {
      case "AwaitingOffer+" -> frame.slice(frame.limit() - 1, 1);
      case "AwaitingAck" -> ByteBuffer.wrap(new byte[] {0});
      default -> frame.slice(0, 1);
    };
  }

  private static ClientHandshake clientState(String name, RailDialect dialect) {
    ClientHandshake announcing = ClientHandshake.begin(terms(dialect), Fixtures.locals(1));
    ClientHandshake awaiting = announcing.on(new Sent(), NOW);
    ByteBuffer frame = frame(dialect).encode();
    ClientHandshake almost =
        Fixtures.receive(awaiting, frame.slice(0, frame.limit() - 1), Integer.MAX_VALUE);
    ClientHandshake judging = almost.on(new Received(frame.slice(frame.limit() - 1, 1)), NOW);
    ClientHandshake answering = judging.on(new Connected(), NOW);
    ClientHandshake awaitingAck = answering.on(new Sent(), NOW);
    return switch (name) {
      case "Announcing" -> announcing;
      case "AwaitingOffer" -> awaiting;
      case "AwaitingOffer+" -> almost;
      case "JudgingOffer" -> judging;
      case "Answering" -> answering;
      case "AwaitingAck" -> awaitingAck;
      case "Established" -> Fixtures.receive(awaitingAck, "00");
      case "Failed" -> announcing.on(new Expired(), NOW);
      default -> throw new AssertionError(name);
    };
  }

  private static ServerHandshake serverState(String name, RailDialect dialect) {
    ServerHandshake counting = ServerHandshake.begin(terms(dialect), 2);
    ServerHandshake preparing = Fixtures.receive(counting, "01");
    ServerHandshake offering = preparing.on(new Prepared(frame(dialect)), NOW);
    ServerHandshake awaiting = offering.on(new Sent(), NOW);
    ServerHandshake connecting =
        Fixtures.receive(awaiting, "01" + "000001" + "00" + "00020000" + "0".repeat(30) + "01");
    ServerHandshake acknowledging = connecting.on(new Connected(), NOW);
    return switch (name) {
      case "AwaitingCount" -> counting;
      case "Preparing" -> preparing;
      case "Offering" -> offering;
      case "AwaitingAnswer" -> awaiting;
      case "Connecting" -> connecting;
      case "Acknowledging" -> acknowledging;
      case "Refusing" -> connecting.on(new LocalFault("connecting", new IOException("no")), NOW);
      case "Established" -> acknowledging.on(new Sent(), NOW);
      case "Failed" -> counting.on(new Expired(), NOW);
      default -> throw new AssertionError(name);
    };
  }

  private static ServerFrame frame(RailDialect dialect) {
    return dialect == RailDialect.READ_ONLY ? RO : RW;
  }
}
