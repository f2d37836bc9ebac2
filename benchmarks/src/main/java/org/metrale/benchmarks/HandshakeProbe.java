package org.metrale.benchmarks;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.LockSupport;
import org.metrale.gpu.rail.ClientRails;
import org.metrale.gpu.rail.Deadline;
import org.metrale.gpu.rail.HandshakeConnection;
import org.metrale.gpu.rail.HandshakeTerms;
import org.metrale.gpu.rail.HandshakeTransport;
import org.metrale.gpu.rail.LocalQueuePair;
import org.metrale.gpu.rail.RemoteQueuePair;
import org.metrale.gpu.rail.ServerRails;
import org.metrale.gpu.wire.Gid;
import org.metrale.gpu.wire.RailDialect;
import org.metrale.gpu.wire.Region;
import org.metrale.gpu.wire.RwRailFrame;
import org.metrale.gpu.wire.RwServerRecord;
import org.metrale.gpu.wire.ServerFrame;

/**
 * A handshake of two rails over loopback whose queue pairs cost nothing, next to two round trips of
 * as many bytes between the same two threads. Each has a connection of its own, made beforehand.
 */
final class HandshakeProbe {
  private static final int RAILS = 2;
  private static final int OFFER_BYTES = 73;
  private static final int CLIENT_BYTES = 48;
  private static final long READY_NANOS = 100_000;

  private HandshakeProbe() {}

  /** What one side does with its end of a fresh connection. */
  private interface Side {
    void run(Socket socket) throws IOException;
  }

  public static void main(String[] arguments) throws Exception {
    int times = Setting.childPace().choose(5, 300, 1500);
    int repeats = Setting.childPace().repeats();
    Side serve = socket -> connection(socket).accept(new Server());
    Side connect = socket -> connection(socket).connect(new Client());
    // Alternating, so that both see the same machine.
    double[] handshakes = new double[repeats];
    double[] trips = new double[repeats];
    measure(times, serve, connect);
    measure(times, HandshakeProbe::answer, HandshakeProbe::ask);
    for (int i = 0; i < repeats; i++) {
      handshakes[i] = measure(times, serve, connect);
      trips[i] = measure(times, HandshakeProbe::answer, HandshakeProbe::ask);
    }
    Probe.say("handshake of 2 rails", "checked", Level.NONE, "ns/op", handshakes);
    Probe.say("two round trips", "java sockets", Level.NONE, "ns/op", trips);
  }

  /** The median time of the client's side. */
  private static double measure(int times, Side server, Side client) throws Exception {
    SynchronousQueue<Socket> accepted = new SynchronousQueue<>();
    double[] nanos = new double[times];
    Thread serving =
        new Thread(
            () -> {
              try {
                for (int i = 0; i < times; i++) {
                  Socket socket = accepted.take();
                  server.run(socket);
                  socket.close();
                }
              } catch (IOException | InterruptedException e) {
                throw new IllegalStateException(e);
              }
            });
    serving.setDaemon(true);
    serving.start();
    try (ServerSocket listener = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
      for (int i = 0; i < times; i++) {
        try (Socket socket = new Socket(listener.getInetAddress(), listener.getLocalPort())) {
          socket.setTcpNoDelay(true);
          Socket other = listener.accept();
          other.setTcpNoDelay(true);
          accepted.put(other);
          // The server is to wait for the client, not the other way round.
          LockSupport.parkNanos(READY_NANOS);
          long begin = System.nanoTime();
          client.run(socket);
          nanos[i] = System.nanoTime() - begin;
        }
      }
    }
    serving.join();
    return Row.median(nanos);
  }

  private static HandshakeConnection connection(Socket socket) throws IOException {
    return HandshakeConnection.over(
        HandshakeTransport.of(socket),
        new HandshakeTerms(
            "benchmark", RailDialect.READ_WRITE, Deadline.after(Duration.ofSeconds(10))));
  }

  private static void ask(Socket socket) throws IOException {
    socket.getOutputStream().write(new byte[1]);
    take(socket.getInputStream(), OFFER_BYTES);
    socket.getOutputStream().write(new byte[CLIENT_BYTES]);
    take(socket.getInputStream(), 1);
  }

  private static void answer(Socket socket) throws IOException {
    take(socket.getInputStream(), 1);
    socket.getOutputStream().write(new byte[OFFER_BYTES]);
    take(socket.getInputStream(), CLIENT_BYTES);
    socket.getOutputStream().write(new byte[1]);
  }

  private static void take(InputStream in, int bytes) throws IOException {
    if (in.readNBytes(bytes).length != bytes) {
      throw new IOException("the other end has gone");
    }
  }

  private static LocalQueuePair local(int rail) {
    return new LocalQueuePair(0x100 + rail, 0x200 + rail, new Gid(0x300, 0x400 + rail));
  }

  /** Queue pairs that cost nothing. */
  private static final class Client implements ClientRails {
    @Override
    public List<LocalQueuePair> locals() {
      return List.of(local(0), local(1));
    }

    @Override
    public void connect(int railIndex, RemoteQueuePair remote) {
      // There is nothing to connect.
    }
  }

  /** Queue pairs and memory that cost nothing. */
  private static final class Server implements ServerRails {
    @Override
    public int available() {
      return RAILS;
    }

    @Override
    public ServerFrame prepare(int rails) {
      List<RwServerRecord> records = new ArrayList<>();
      for (int rail = 0; rail < rails; rail++) {
        records.add(new RwServerRecord(local(rail).toWire(), new Region(0x7f00_0000_0000L, 0x800)));
      }
      return new RwRailFrame(records);
    }

    @Override
    public void connect(int railIndex, RemoteQueuePair remote) {
      // There is nothing to connect.
    }
  }
}
