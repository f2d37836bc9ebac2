package org.metrale.gpu.rail;

import com.google.errorprone.annotations.MustBeClosed;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.metrale.gpu.DaemonThread;
import org.metrale.gpu.NativeResource;

/**
 * The server half of rails: accepts clients, shakes hands and keeps their rails until they hang up.
 *
 * <p>On loopback unless told otherwise. A client beyond the limit, or from an address that is not
 * allowed, is closed at once. Everything has a deadline until the rails are connected. What a
 * client may do is the least that the service needs, by its memory's rights and by its queue
 * pairs'.
 *
 * <p><b>Threading:</b> one daemon thread accepts, and one serves each client.
 *
 * <p><b>Cleanup:</b> {@link #close()} hangs up on every client, interrupts its thread and waits for
 * it, 20 seconds at most.
 */
public final class RailServer extends NativeResource {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");

  /** How long the services may take to end. */
  private static final Duration GOODBYE = Duration.ofSeconds(20);

  private final RailSet rails;
  private final RailService service;
  private final RailServerOptions options;
  private final ServerSocket listener;
  private final Thread acceptor;
  private final PacketNumbers numbers = new PacketNumbers();
  private final AtomicLong refused = new AtomicLong();
  private final AtomicLong failed = new AtomicLong();
  private final AtomicLong connected = new AtomicLong();

  /** Clients that are being served; guarded by itself. */
  private final Map<Socket, Thread> clients = new HashMap<>();

  private volatile boolean closing;

  private RailServer(
      RailSet rails, RailService service, RailServerOptions options, ServerSocket listener) {
    super(rails);
    this.rails = rails;
    this.service = service;
    this.options = options;
    this.listener = listener;
    this.acceptor = new DaemonThread(this::accept, "rail server " + listener.getLocalPort());
  }

  /**
   * Begins to serve.
   *
   * @param rails this side's rails; a client may ask for the first of them
   * @param service what is served
   * @param options where and for whom
   * @return the server
   * @throws IOException if the address cannot be listened on
   * @throws IllegalStateException if the rails are closed
   */
  @MustBeClosed
  public static RailServer start(RailSet rails, RailService service, RailServerOptions options)
      throws IOException {
    // What it takes to close a connection: the JDK could not load it, ever, if it came to that
    // when there are no descriptors left.
    SocketChannel.open().close();
    ServerSocket listener = new ServerSocket();
    try {
      listener.bind(options.address());
      return new RailServer(rails, service, options, listener).begun();
    } catch (IOException | RuntimeException | Error e) {
      listener.close();
      throw e;
    }
  }

  private RailServer begun() {
    try {
      acceptor.start();
      return this;
    } catch (OutOfMemoryError e) {
      close();
      throw e;
    }
  }

  /**
   * Where it listens.
   *
   * @return the address with the real port
   */
  public InetSocketAddress address() {
    return (InetSocketAddress) listener.getLocalSocketAddress();
  }

  /**
   * How many clients are being served, those in their handshake included.
   *
   * @return 0 or more
   */
  public int clients() {
    synchronized (clients) {
      return clients.size();
    }
  }

  /**
   * How many clients got their rails.
   *
   * @return since the server began
   */
  public long connectedSoFar() {
    return connected.get();
  }

  /**
   * How many clients came to nothing in preamble or handshake.
   *
   * @return since the server began
   */
  public long failedSoFar() {
    return failed.get();
  }

  /**
   * How many clients were turned away at the door.
   *
   * @return since the server began
   */
  public long refusedSoFar() {
    return refused.get();
  }

  private void accept() {
    while (!closing) {
      try {
        admit(listener.accept());
      } catch (IOException | RuntimeException | OutOfMemoryError | LinkageError e) {
        if (!closing) {
          LOG.log(Level.WARNING, "a client could not be accepted", e);
          // Out of descriptors, which loading a class needs too, or of threads, for example:
          // trying again at once would fill the log.
          LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
        }
      }
    }
  }

  private void admit(Socket socket) throws IOException {
    String why = enroll(socket);
    if (!why.isEmpty()) {
      refused.incrementAndGet();
      LOG.log(Level.INFO, socket.getRemoteSocketAddress() + " was turned away: " + why);
      socket.close();
    }
  }

  /** Begins to serve a client; answers why not, if it does not. */
  private String enroll(Socket socket) {
    if (!options.clients().allows(socket.getInetAddress())) {
      return "it is not allowed";
    }
    synchronized (clients) {
      if (closing || clients.size() >= options.maxConnections()) {
        return clients.size() + " clients are connected";
      }
      Thread thread = new DaemonThread(() -> serve(socket), "rail client " + socket.getPort());
      clients.put(socket, thread);
      boolean started = false;
      try {
        thread.start();
        started = true;
      } finally {
        if (!started) {
          clients.remove(socket);
          hangUp(socket);
        }
      }
      return "";
    }
  }

  private void serve(Socket socket) {
    String peer = socket.getRemoteSocketAddress().toString();
    AtomicBoolean hasRails = new AtomicBoolean();
    try {
      socket.setTcpNoDelay(true);
      KeepAlive.on(socket);
      serve(peer, new SocketTransport(options.layer().over(socket), socket), hasRails);
    } catch (IOException | RuntimeException | OutOfMemoryError e) {
      if (!closing) {
        boolean isTold = e instanceof HandshakeException;
        LOG.log(Level.INFO, isTold ? e.getMessage() : "the connection of " + peer + " ended: " + e);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      if (!hasRails.get()) {
        failed.incrementAndGet();
      }
      hangUp(socket);
      synchronized (clients) {
        clients.remove(socket);
        clients.notifyAll();
      }
    }
  }

  private void serve(String peer, HandshakeTransport transport, AtomicBoolean hasRails)
      throws IOException, InterruptedException {
    HandshakeTerms terms =
        new HandshakeTerms(peer, service.dialect(), Deadline.after(options.handshakeTimeout()));
    HandshakeConnection connection = HandshakeConnection.over(transport, terms);
    RailShare share = service.greet(connection);
    BoundedRails served =
        new BoundedRails(
            new ServedRails(rails, service.dialect(), share, options.ledger(), numbers),
            terms.deadline());
    try {
      connection.accept(served);
      hasRails.set(true);
      connected.incrementAndGet();
      service.serve(transport);
    } finally {
      served.close(() -> service.gone(share));
    }
  }

  private static void hangUp(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "a client's socket did not close", e);
    }
  }

  @Override
  protected void free() {
    closing = true;
    try {
      listener.close();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "the listening socket did not close", e);
    }
    boolean interrupted = false;
    long end = System.nanoTime() + GOODBYE.toNanos();
    synchronized (clients) {
      clients.forEach(RailServer::dismiss);
      long millis = GOODBYE.toMillis();
      while (!clients.isEmpty() && millis > 0) {
        try {
          clients.wait(millis);
        } catch (InterruptedException e) {
          interrupted = true;
        }
        millis = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
      if (!clients.isEmpty()) {
        throw new IllegalStateException(
            this + " has " + clients.size() + " clients whose service does not end");
      }
    }
  }

  /** Ends whatever its thread waits for. */
  private static void dismiss(Socket socket, Thread thread) {
    hangUp(socket);
    thread.interrupt();
  }

  @Override
  public String toString() {
    return "rail server at " + listener.getLocalSocketAddress() + " on " + rails;
  }
}
