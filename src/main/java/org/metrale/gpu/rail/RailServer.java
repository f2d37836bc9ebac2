package org.metrale.gpu.rail;

import com.google.errorprone.annotations.MustBeClosed;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
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
 * <p><b>Cleanup:</b> {@link #close()} hangs up on every client and waits for its thread.
 */
public final class RailServer extends NativeResource {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");

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
    this.acceptor = new Thread(this::accept, "rail server " + listener.getLocalPort());
    acceptor.setDaemon(true);
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
    ServerSocket listener = new ServerSocket();
    try {
      listener.bind(options.address());
      RailServer out = new RailServer(rails, service, options, listener);
      out.acceptor.start();
      return out;
    } catch (IOException | RuntimeException | Error e) {
      listener.close();
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
      } catch (IOException | OutOfMemoryError e) {
        if (!closing) {
          LOG.log(Level.WARNING, "a client could not be accepted", e);
          // Out of descriptors or threads, for example: trying again at once would fill the log.
          LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
        }
      }
    }
  }

  private void admit(Socket socket) throws IOException {
    synchronized (clients) {
      boolean allowed = options.clients().allows(socket.getInetAddress());
      if (closing || !allowed || clients.size() >= options.maxConnections()) {
        refused.incrementAndGet();
        String why = allowed ? clients.size() + " clients are connected" : "it is not allowed";
        LOG.log(Level.INFO, socket.getRemoteSocketAddress() + " was turned away: " + why);
        socket.close();
        return;
      }
      Thread thread = new Thread(() -> serve(socket), "rail client " + socket.getPort());
      thread.setDaemon(true);
      clients.put(socket, thread);
      try {
        thread.start();
      } catch (OutOfMemoryError e) {
        clients.remove(socket);
        socket.close();
        throw e;
      }
    }
  }

  private void serve(Socket socket) {
    String peer = socket.getRemoteSocketAddress().toString();
    try {
      socket.setTcpNoDelay(true);
      serve(peer, HandshakeTransport.of(socket));
    } catch (HandshakeException e) {
      failed.incrementAndGet();
      LOG.log(Level.INFO, e.getMessage());
    } catch (IOException | RuntimeException e) {
      if (!closing) {
        LOG.log(Level.INFO, "the connection of " + peer + " ended: " + e);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } finally {
      hangUp(socket);
      synchronized (clients) {
        clients.remove(socket);
        clients.notifyAll();
      }
    }
  }

  private void serve(String peer, HandshakeTransport transport)
      throws IOException, InterruptedException {
    HandshakeTerms terms =
        new HandshakeTerms(peer, service.dialect(), Deadline.after(options.handshakeTimeout()));
    HandshakeConnection connection = HandshakeConnection.over(transport, terms);
    RailShare share = service.greet(connection);
    ServedRails served =
        new ServedRails(rails, service.dialect(), share, options.ledger(), numbers);
    try {
      connection.accept(served);
      connected.incrementAndGet();
      service.serve(transport);
    } finally {
      try {
        served.close();
      } finally {
        service.gone(share);
      }
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
    synchronized (clients) {
      List.copyOf(clients.keySet()).forEach(RailServer::hangUp);
      while (!clients.isEmpty()) {
        try {
          clients.wait();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public String toString() {
    return "rail server at " + listener.getLocalSocketAddress() + " on " + rails;
  }
}
