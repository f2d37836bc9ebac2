package org.metrale.gpu.rail;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * One end of a duplex stream whose other end is a script: what it says, in pieces, then the end of
 * the stream or a failure. Records how much had been written whenever something was read.
 */
final class ScriptedTransport implements HandshakeTransport {
  private final ByteArrayOutputStream written = new ByteArrayOutputStream();
  private final Set<Integer> writtenAtReads = new TreeSet<>();
  private final ByteBuffer script;
  private final int pieceBytes;
  private Optional<IOException> failure = Optional.empty();
  private Optional<IOException> writeFailure = Optional.empty();
  private int writes;
  private boolean closed;

  ScriptedTransport(ByteBuffer script, int pieceBytes) {
    this.script = script.slice();
    this.pieceBytes = pieceBytes;
  }

  /** After the script, reads fail instead of ending. */
  ScriptedTransport thenFail(IOException e) {
    failure = Optional.of(e);
    return this;
  }

  /** Writes fail. */
  ScriptedTransport refuseWrites(IOException e) {
    writeFailure = Optional.of(e);
    return this;
  }

  @Override
  public int read(ByteBuffer into, Deadline deadline) throws IOException {
    writtenAtReads.add(written.size());
    if (!script.hasRemaining()) {
      if (failure.isPresent()) {
        throw failure.get();
      }
      return -1;
    }
    int length = Math.min(Math.min(pieceBytes, script.remaining()), into.remaining());
    into.put(script.slice(script.position(), length));
    script.position(script.position() + length);
    return length;
  }

  @Override
  public void write(ByteBuffer flight, Deadline deadline) throws IOException {
    if (writeFailure.isPresent()) {
      throw writeFailure.get();
    }
    byte[] bytes = new byte[flight.remaining()];
    flight.get(bytes);
    written.write(bytes);
    writes++;
  }

  @Override
  public void close() {
    closed = true;
  }

  ByteBuffer written() {
    return ByteBuffer.wrap(written.toByteArray());
  }

  Set<Integer> writtenAtReads() {
    return writtenAtReads;
  }

  int writes() {
    return writes;
  }

  int consumedBytes() {
    return script.position();
  }

  boolean isClosed() {
    return closed;
  }
}
