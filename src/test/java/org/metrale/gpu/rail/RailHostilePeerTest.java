package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.SSLSocketFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.ModelRequest;
import org.metrale.gpu.wire.PagingHeader;
import org.metrale.gpu.wire.RailDialect;

/** Clients that mean no good, over the software GPU host's devices; a good one is served after. */
@Tag("emulator")
@Timeout(60)
final class RailHostilePeerTest {
  private static final Duration SHORT = Duration.ofMillis(300);
  private static final int MOST = 3;

  private RailHost host;

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  @BeforeEach
  void open() throws Exception {
    host = new RailHost(RdmaDevices.servers(), RdmaDevices.clients(), 4096, RailDialect.READ_ONLY);
  }

  @AfterEach
  void close() throws Exception {
    host.close();
  }

  /** What a service asks of its clients first. */
  private interface Greeting {
    void exchange(HandshakeConnection connection) throws IOException;
  }

  private RailServer serve(Greeting greeting, Duration timeout) throws IOException {
    return serve(
        greeting, RailServerOptions.loopback().withLimits(MOST, timeout, MemoryLedger.of(0)));
  }

  @SuppressWarnings("MustBeClosed") // the host does
  private RailServer serve(Greeting greeting, RailServerOptions options) throws IOException {
    RailService plain = RailHost.service(RailDialect.READ_ONLY, RailShare.of(List.of(host.arena)));
    RailService service =
        new RailService() {
          @Override
          public RailDialect dialect() {
            return plain.dialect();
          }

          @Override
          public RailShare greet(HandshakeConnection connection) throws IOException {
            greeting.exchange(connection);
            return plain.greet(connection);
          }
        };
    return host.keep(RailServer.start(host.serverRails, service, options));
  }

  private static Socket connect(RailServer server) throws IOException {
    InetSocketAddress at = server.address();
    return new Socket(at.getAddress(), at.getPort());
  }

  /** What the server says until it hangs up, which a reset means too. */
  private static byte[] answer(Socket socket) throws IOException {
    try {
      return socket.getInputStream().readAllBytes();
    } catch (SocketException e) {
      return new byte[0];
    }
  }

  private static void until(BooleanSupplier condition) throws InterruptedException {
    while (!condition.getAsBoolean()) {
      Thread.sleep(1);
    }
  }

  private void assertServes(RailServer server) throws Exception {
    assertServes(server, RailPreamble.NONE);
  }

  private void assertServes(RailServer server, RailPreamble preamble) throws Exception {
    until(() -> server.clients() == 0);
    host.arena.write(0, RailHost.bytes(4, 4096));
    RailMemory memory = host.memory(4096);
    RailClient client = RailClient.to(server.address(), RailDialect.READ_ONLY).saying(preamble);
    try (ConnectedRails rails = client.connect(host.clientRails, RailHost.LIMIT)) {
      rails.read(memory, 0, new RailTarget(0, 0), 4096, RailHost.LIMIT);
    }
    assertEquals(RailHost.bytes(4, 4096), RailHost.read(memory, 0, 4096));
  }

  @Test
  void aFloodIsTurnedAway() throws Exception {
    RailServer server = serve(connection -> {}, RailHost.LIMIT);
    List<Socket> silent = new ArrayList<>();
    for (int i = 0; i < MOST; i++) {
      silent.add(host.keep(connect(server)));
    }
    until(() -> server.clients() == MOST);
    for (int i = 0; i < 50; i++) {
      try (Socket tooMany = connect(server)) {
        assertArrayEquals(new byte[0], answer(tooMany));
      }
    }
    assertEquals(50, server.refusedSoFar());
    for (Socket socket : silent) {
      socket.close();
    }
    assertServes(server);
    assertEquals(MOST, server.failedSoFar());
  }

  @Test
  void aClientThatTricklesIsEndedAtTheDeadline() throws Exception {
    RailServer server = serve(connection -> {}, SHORT);
    try (Socket slow = connect(server)) {
      slow.getOutputStream().write(2);
      assertThrows(
          SocketException.class,
          () -> {
            while (true) {
              slow.getOutputStream().write(2);
              Thread.sleep(20);
            }
          });
    }
    assertServes(server);
    assertEquals(1, server.failedSoFar());
  }

  @Test
  void aClientThatFallsSilentInItsFrameKeepsNothing() throws Exception {
    RailServer server = serve(connection -> {}, SHORT);
    try (Socket half = connect(server)) {
      half.getOutputStream().write(new byte[] {2, 2, 1, 1, 1});
      byte[] offer = answer(half);
      assertEquals(2, offer[0], "the offer, and no acknowledgement");
      assertEquals(1 + 2 * 40, offer.length);
    }
    assertServes(server);
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 3, 255})
  void numbersOfRailsThatThereAreNotAreRefusedWithoutAWord(int rails) throws Exception {
    RailServer server = serve(connection -> {}, RailHost.LIMIT);
    try (Socket client = connect(server)) {
      client.getOutputStream().write(rails);
      assertArrayEquals(new byte[0], answer(client));
    }
    assertServes(server);
  }

  @Test
  void recordsThatNoQueuePairCanHaveAreAnsweredByAnErrorAcknowledgement() throws Exception {
    RailServer server = serve(connection -> {}, RailHost.LIMIT);
    try (Socket client = connect(server)) {
      byte[] frame = new byte[2 + 24];
      frame[0] = 1;
      frame[1] = 1;
      client.getOutputStream().write(frame);
      byte[] said = answer(client);
      assertEquals(1 + 40 + 1, said.length);
      assertEquals(1, said[said.length - 1]);
    }
    assertServes(server);
  }

  @Test
  void whatIsNoPreambleIsRefusedAsSoonAsThatIsClear() throws Exception {
    RailServer paging =
        serve(
            connection ->
                connection.receive(MessageFormat.of(PagingHeader::missing, PagingHeader::decode)),
            RailHost.LIMIT);
    try (Socket client = connect(paging)) {
      client.getOutputStream().write("GET / HT".getBytes(java.nio.charset.StandardCharsets.UTF_8));
      assertArrayEquals(new byte[0], answer(client));
    }
    until(() -> paging.failedSoFar() == 1);
    RailServer weights =
        serve(
            connection ->
                connection.receive(MessageFormat.of(ModelRequest::missing, ModelRequest::decode)),
            RailHost.LIMIT);
    try (Socket client = connect(weights)) {
      // Four gibibytes are announced.
      client.getOutputStream().write(new byte[] {-1, -1, -1, -1});
      assertArrayEquals(new byte[0], answer(client));
    }
    assertServes(weights, connection -> connection.send(new ModelRequest("m").encode()));
  }

  @Test
  void noiseLeavesNothing() throws Exception {
    RailServer server = serve(connection -> {}, SHORT);
    assertServes(server);
    long before = Descriptors.open();
    Random random = new Random(11);
    for (int i = 0; i < 100; i++) {
      byte[] noise = new byte[1 + random.nextInt(80)];
      random.nextBytes(noise);
      noise[0] = (byte) random.nextInt(4);
      try (Socket client = connect(server)) {
        client.getOutputStream().write(noise);
        client.shutdownOutput();
        answer(client);
      }
      until(() -> server.clients() == 0);
    }
    while (Descriptors.open() > before) {
      Thread.sleep(1);
    }
    assertServes(server);
  }

  @Test
  void aServiceThatWaitsIsInterruptedWhenTheServerIsClosed() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    RailServer server =
        serve(
            connection -> {
              try {
                never.await();
              } catch (InterruptedException e) {
                throw new IOException(e);
              }
            },
            RailHost.LIMIT);
    try (Socket client = connect(server)) {
      until(() -> server.clients() == 1);
      server.close();
      assertArrayEquals(new byte[0], answer(client));
      assertEquals(0, server.clients());
    }
  }

  /** The first queue pair is never made, or the first client's never destroyed. */
  @Tag("slow")
  @ParameterizedTest
  @CsvSource({"ibv_create_qp call=1, 0", "ibv_destroy_qp call=1, 1"})
  void aDeviceThatIsStuckCostsOneClientOnly(String call, int served, @TempDir Path folder)
      throws Exception {
    Path file =
        Files.write(folder.resolve("emulator.conf"), List.of("fault = ibverbs." + call + " hang"));
    ForkedJvm.Result said =
        SoftwareHost.running(StuckProbe.class)
            .environment("METRALE_EMULATOR_CONFIG", file)
            .run()
            .succeeded();
    assertEquals(Integer.toString(served), said.value("first"));
    assertEquals("2", said.value("connected"));
  }

  /** Lets one client after the other in, where there is room for one. */
  static final class StuckProbe {
    /** For a device that answers, on a machine that is busy. */
    private static final Duration ENOUGH = Duration.ofSeconds(3);

    private StuckProbe() {}

    /** Runs it. */
    @SuppressWarnings("MustBeClosed") // what a stuck device has cannot be closed
    public static void main(String[] arguments) throws Exception {
      RailSet rails = RailSet.open(RailHost.specs(RdmaDevices.servers()));
      RailMemory arena = RailMemory.allocate(rails, 4096, VerbsAccess.REMOTE_READ);
      RailService service = RailHost.service(RailDialect.READ_ONLY, RailShare.of(List.of(arena)));
      RailServer server =
          RailServer.start(
              rails,
              service,
              RailServerOptions.loopback().withLimits(1, ENOUGH, MemoryLedger.of(0)));
      ask(server);
      System.out.println("first=" + server.connectedSoFar());
      while (server.connectedSoFar() < 2) {
        ask(server);
      }
      System.out.println("connected=" + server.connectedSoFar());
    }

    /** One rail, with numbers that no queue pair here has. */
    private static void ask(RailServer server) throws Exception {
      try (Socket client = connect(server)) {
        byte[] frame = new byte[2 + 24];
        frame[0] = 1;
        frame[1] = 1;
        frame[2] = 7;
        frame[25] = 7;
        client.getOutputStream().write(frame);
        client.shutdownOutput();
        answer(client);
      } catch (SocketException e) {
        // Turned away: there is room for one.
        Thread.sleep(1);
      }
      until(() -> server.clients() == 0);
    }
  }

  @Test
  void onlyClientsWithACertificateAreServedOverTls() throws Exception {
    SSLSocketFactory sockets = Tls.sockets();
    RailServer server =
        serve(
            connection -> {},
            RailServerOptions.loopback()
                .over(
                    accepted -> {
                      SSLSocket tls =
                          (SSLSocket)
                              sockets.createSocket(accepted, null, accepted.getPort(), true);
                      tls.setUseClientMode(false);
                      tls.setNeedClientAuth(true);
                      return tls;
                    }));
    host.arena.write(0, RailHost.bytes(4, 4096));
    RailMemory memory = host.memory(4096);
    try (ConnectedRails rails = over(sockets, server).connect(host.clientRails, RailHost.LIMIT)) {
      rails.read(memory, 0, new RailTarget(0, 0), 4096, RailHost.LIMIT);
    }
    assertEquals(RailHost.bytes(4, 4096), RailHost.read(memory, 0, 4096));
    RailClient stranger = over(Tls.socketsWithoutCertificate(), server);
    assertThrows(
        HandshakeException.class, () -> stranger.connect(host.clientRails, RailHost.LIMIT).close());
    try (Socket plain = connect(server)) {
      plain.getOutputStream().write("GET / HT".getBytes(java.nio.charset.StandardCharsets.UTF_8));
      answer(plain);
    }
    until(() -> server.failedSoFar() == 2);
    assertEquals(1, server.connectedSoFar());
  }

  private static RailClient over(SSLSocketFactory sockets, RailServer server) {
    SocketLayer tls = connection -> sockets.createSocket(connection, "localhost", 0, true);
    RailDialer dialer = RailDialer.tcp(server.address(), tls);
    return RailClient.through("over TLS", dialer, RailDialect.READ_ONLY);
  }
}
