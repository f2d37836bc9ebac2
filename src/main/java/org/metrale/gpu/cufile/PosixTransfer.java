package org.metrale.gpu.cufile;

/**
 * Transfers between a file and host memory through the file system's calls: the aligned middle past
 * the page cache, the ragged ends through it.
 */
final class PosixTransfer {
  private final OpenFile file;
  private final boolean write;

  /** Bytes that passed by the page cache. */
  private long directBytes;

  PosixTransfer(OpenFile file, boolean write) {
    this.file = file;
    this.write = write;
  }

  long directBytes() {
    return directBytes;
  }

  /** Answers bytes, or minus an errno if there were none. */
  long move(long address, long lengthBytes, long offset) {
    DirectSpan span = span(address, lengthBytes, offset);
    long head = span.headBytes();
    long middle = span.lengthBytes();
    if (middle == 0) {
      return buffered(address, lengthBytes, offset);
    }
    long done = 0;
    if (head > 0) {
      done = buffered(address, head, offset);
      if (done < head) {
        return done;
      }
    }
    long moved = direct(address + head, middle, offset + head);
    if (moved == -CuFileCalls.invalid()) {
      moved = 0; // the alignment that was told or tried does not hold here
    }
    if (moved < 0) {
      return done > 0 ? done : moved;
    }
    directBytes += moved;
    done += moved;
    // What is left is the tail, or what a direct transfer could not do; at the end of the file
    // nothing.
    long rest = buffered(address + done, lengthBytes - done, offset + done);
    return rest < 0 ? (done > 0 ? done : rest) : done + rest;
  }

  private DirectSpan span(long address, long lengthBytes, long offset) {
    if (file.direct() < 0) {
      return DirectSpan.NONE;
    }
    long step = DirectSpan.step(write, file.offsetAlignment(), CuFileCalls.pageBytes());
    return DirectSpan.of(step, file.memoryAlignment(), address, lengthBytes, offset);
  }

  private long buffered(long address, long lengthBytes, long offset) {
    if (lengthBytes == 0) {
      return 0;
    }
    return write
        ? CuFileCalls.pwrite(file.buffered(), address, lengthBytes, offset)
        : CuFileCalls.pread(file.buffered(), address, lengthBytes, offset);
  }

  private long direct(long address, long lengthBytes, long offset) {
    return write
        ? CuFileCalls.pwrite(file.direct(), address, lengthBytes, offset)
        : CuFileCalls.pread(file.direct(), address, lengthBytes, offset);
  }
}
