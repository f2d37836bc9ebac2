package org.metrale.gpu.nccl;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.Connections;

/** The side of the TCP bootstrap that receives the id. */
final class RendezvousClient {
  private static final long RETRY_NANOS = 50_000_000;
  private static final int NANOS_A_MILLI = 1_000_000;

  private final InetSocketAddress address;
  private final Duration timeout;
  private final byte[] secret;

  private final Supplier<Socket> sockets;

  RendezvousClient(InetSocketAddress address, Duration timeout, byte[] secret) {
    this(address, timeout, secret, Socket::new);
  }

  RendezvousClient(
      InetSocketAddress address, Duration timeout, byte[] secret, Supplier<Socket> sockets) {
    this.address = address;
    this.timeout = timeout;
    this.secret = secret;
    this.sockets = sockets;
  }

  byte[] take(int ranks, int rank) throws IOException {
    long end = System.nanoTime() + Math.min(Backoff.nanos(timeout), Long.MAX_VALUE / 4);
    IOException last = new IOException("no time to try");
    while (System.nanoTime() < end) {
      try (Socket socket = sockets.get()) {
        socket.connect(address, millisUntil(end));
        Connections.refuseItself(socket);
        return converse(socket, ranks, rank, end);
      } catch (ConnectException e) {
        // Rank 0 may start later than this one, or have no room for the moment.
        last = e;
      }
      LockSupport.parkNanos(RETRY_NANOS);
      if (Thread.currentThread().isInterrupted()) {
        throw new java.io.InterruptedIOException("interrupted while waiting for rank 0");
      }
    }
    throw new IOException("rank 0 was not reached at " + address + " within " + timeout, last);
  }

  private byte[] converse(Socket socket, int ranks, int rank, long end) throws IOException {
    socket.setTcpNoDelay(true);
    DataInputStream in = new DataInputStream(new GreetingInput(socket, end));
    DataOutputStream out = new DataOutputStream(socket.getOutputStream());
    if (greeted(in) != Greeting.MAGIC) {
      throw new IOException(address + " is not rank 0 of an NCCL bootstrap");
    }
    byte[] server = Greeting.read(in, Greeting.NONCE_BYTES);
    byte[] mine = Greeting.nonce();
    byte[] place = Greeting.place(ranks, rank);
    out.writeInt(Greeting.MAGIC);
    out.write(place);
    out.write(mine);
    out.write(Greeting.proof(secret, 'c', server, mine, place));
    out.flush();
    byte answer = in.readByte();
    if (answer != Greeting.WELCOME) {
      throw new IOException(
          "rank " + rank + " of " + ranks + " was turned away: " + Greeting.reason(answer));
    }
    byte[] proof = Greeting.read(in, Greeting.PROOF_BYTES);
    byte[] id = Greeting.read(in, NcclUniqueId.BYTES);
    if (!Greeting.same(proof, Greeting.proof(secret, 's', server, mine, id))) {
      throw new IOException("what answers at " + address + " does not know the secret");
    }
    out.writeByte(Greeting.WELCOME);
    out.flush();
    return id;
  }

  /** The server's first word. One that hangs up before it greets lets nobody else in now. */
  private int greeted(DataInputStream in) throws IOException {
    try {
      return in.readInt();
    } catch (EOFException | SocketException e) {
      ConnectException out = new ConnectException(address + " hung up before it greeted");
      out.initCause(e);
      throw out;
    }
  }

  private static int millisUntil(long end) {
    long left = (end - System.nanoTime()) / NANOS_A_MILLI;
    return (int) Math.max(1, Math.min(left, Integer.MAX_VALUE));
  }
}
