package org.metrale.gpu.nccl;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.BindException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.BoundedCall;

/** The side of the TCP bootstrap that hands out the id. */
final class RendezvousServer {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.nccl");
  private static final int NANOS_A_MILLI = 1_000_000;

  /** How long a connection may take to say who it is, in all. */
  private static final long GREETING_NANOS = 5_000_000_000L;

  private static final long BIND_NANOS = 1_000_000_000L;
  private static final long BIND_RETRY_NANOS = 10_000_000L;

  /** More strangers than this at once have to wait. */
  private static final int STRANGERS = 64;

  private final InetSocketAddress address;
  private final Duration timeout;
  private final byte[] secret;
  private final int ranks;
  private final long end;

  /** Who has come, by rank. Guarded by this, as are the strangers. */
  private final TreeMap<Integer, Guest> guests = new TreeMap<>();

  private final Set<Socket> strangers = new HashSet<>();

  /** Whether nobody is seated any more. Guarded by this. */
  private boolean over;

  /** One rank that has come. */
  private static final class Guest {
    final Socket socket;
    final byte[] serverNonce;
    final byte[] clientNonce;

    Guest(Socket socket, byte[] serverNonce, byte[] clientNonce) {
      this.socket = socket;
      this.serverNonce = serverNonce;
      this.clientNonce = clientNonce;
    }
  }

  RendezvousServer(InetSocketAddress address, Duration timeout, byte[] secret, int ranks) {
    this.address = address;
    this.timeout = timeout;
    this.secret = secret;
    this.ranks = ranks;
    this.end = System.nanoTime() + Math.min(Backoff.nanos(timeout), Long.MAX_VALUE / 4);
  }

  void give(byte[] id) throws IOException {
    try (ServerSocket listening = new ServerSocket()) {
      listening.setReuseAddress(true);
      bind(listening);
      while (!complete()) {
        accept(listening);
      }
      handOut(id);
    } finally {
      closeAll();
    }
  }

  /** Another rank's attempt to connect may hold the port for a moment. */
  private void bind(ServerSocket listening) throws IOException {
    long last = Math.min(System.nanoTime() + BIND_NANOS, end);
    while (true) {
      try {
        listening.bind(address, ranks);
        return;
      } catch (BindException e) {
        if (System.nanoTime() >= last || Thread.currentThread().isInterrupted()) {
          throw e;
        }
        LockSupport.parkNanos(BIND_RETRY_NANOS);
      }
    }
  }

  private synchronized boolean complete() {
    return guests.size() == ranks - 1;
  }

  private void accept(ServerSocket listening) throws IOException {
    long left = (end - System.nanoTime()) / NANOS_A_MILLI;
    if (left <= 0) {
      throw tooLate();
    }
    // Short, because the last guest is let in by another thread.
    listening.setSoTimeout((int) Math.min(left, 20));
    Socket socket;
    try {
      socket = listening.accept();
    } catch (SocketTimeoutException e) {
      return;
    }
    boolean room;
    synchronized (this) {
      room = strangers.size() < STRANGERS;
      if (room) {
        strangers.add(socket);
      }
    }
    if (room) {
      greetApart(socket);
    } else {
      socket.close();
    }
  }

  @SuppressWarnings("FutureReturnValueIgnored") // greet says itself what goes wrong
  private void greetApart(Socket socket) {
    BoundedCall.startOrRun(
        () -> {
          greet(socket);
          return socket;
        });
  }

  /** Lets a connection say who it is; whoever cannot is turned away and takes nobody's place. */
  private void greet(Socket socket) {
    boolean stays = false;
    try {
      socket.setTcpNoDelay(true);
      stays = welcome(socket);
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "turned away {0}: {1}", socket.getRemoteSocketAddress(), e.getMessage());
    } finally {
      synchronized (this) {
        strangers.remove(socket);
      }
      if (!stays) {
        close(socket);
      }
    }
  }

  private boolean welcome(Socket socket) throws IOException {
    long until = Math.min(end, System.nanoTime() + GREETING_NANOS);
    DataInputStream in = new DataInputStream(new GreetingInput(socket, until));
    DataOutputStream out = new DataOutputStream(socket.getOutputStream());
    byte[] mine = Greeting.nonce();
    out.writeInt(Greeting.MAGIC);
    out.write(mine);
    out.flush();
    if (in.readInt() != Greeting.MAGIC) {
      throw new IOException("does not speak the protocol");
    }
    int theirRanks = in.readInt();
    int rank = in.readInt();
    byte[] theirs = Greeting.read(in, Greeting.NONCE_BYTES);
    byte[] proof = Greeting.read(in, Greeting.PROOF_BYTES);
    byte[] place = Greeting.place(theirRanks, rank);
    byte answer = Greeting.WELCOME;
    if (!Greeting.same(proof, Greeting.proof(secret, 'c', mine, theirs, place))) {
      answer = Greeting.WRONG_SECRET;
    } else if (theirRanks != ranks) {
      answer = Greeting.WRONG_RANKS;
    } else if (rank < 1 || rank >= ranks) {
      answer = Greeting.NO_SUCH_RANK;
    } else if (!seat(rank, new Guest(socket, mine, theirs))) {
      answer = Greeting.RANK_TAKEN;
    }
    if (answer != Greeting.WELCOME) {
      out.writeByte(answer);
      out.flush();
      throw new IOException("rank " + rank + " of " + theirRanks + ": " + Greeting.reason(answer));
    }
    return true;
  }

  /** A rank's place is free again if its process went away. */
  private synchronized boolean seat(int rank, Guest guest) {
    Guest there = guests.get(rank);
    if (over || (there != null && isAlive(there.socket))) {
      return false;
    }
    guests.put(rank, guest);
    if (there != null) {
      close(there.socket);
    }
    return true;
  }

  private static boolean isAlive(Socket socket) {
    try {
      socket.setSoTimeout(1);
      return socket.getInputStream().read() >= 0;
    } catch (SocketTimeoutException e) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  private void handOut(byte[] id) throws IOException {
    List<Guest> all;
    synchronized (this) {
      all = new ArrayList<>(guests.values());
    }
    for (Guest guest : all) {
      DataOutputStream out = new DataOutputStream(guest.socket.getOutputStream());
      out.writeByte(Greeting.WELCOME);
      out.write(Greeting.proof(secret, 's', guest.serverNonce, guest.clientNonce, id));
      out.write(id);
      out.flush();
    }
    for (Guest guest : all) {
      long left = (end - System.nanoTime()) / NANOS_A_MILLI;
      guest.socket.setSoTimeout((int) Math.max(1, Math.min(left, Integer.MAX_VALUE)));
      if (guest.socket.getInputStream().read() != Greeting.WELCOME) {
        throw new IOException("a rank went away while the id was handed out");
      }
    }
  }

  private IOException tooLate() {
    List<Integer> missing = new ArrayList<>();
    List<Guest> there;
    synchronized (this) {
      for (int rank = 1; rank < ranks; rank++) {
        if (!guests.containsKey(rank)) {
          missing.add(rank);
        }
      }
      there = new ArrayList<>(guests.values());
    }
    for (Guest guest : there) {
      try {
        guest.socket.getOutputStream().write(Greeting.TOO_LATE);
      } catch (IOException e) {
        LOG.log(Level.DEBUG, "a rank went away", e);
      }
    }
    return new IOException(
        "ranks " + missing + " of " + ranks + " did not come to " + address + " within " + timeout);
  }

  private synchronized void closeAll() {
    over = true;
    guests.values().forEach(guest -> close(guest.socket));
    strangers.forEach(RendezvousServer::close);
  }

  private static void close(Socket socket) {
    try {
      socket.close();
    } catch (IOException e) {
      LOG.log(Level.DEBUG, "closing a connection failed", e);
    }
  }
}
