package org.metrale.gpu.cufile;

import java.nio.channels.FileChannel;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Set;
import org.metrale.gpu.cufile.CuFileException.Where;

/** The descriptors of one file, and what its file system asks of direct transfers. */
final class OpenFile {
  /** What direct transfers are tried with where nothing says an alignment. */
  private static final long TRIAL_BYTES = 64 << 10;

  private final String path;
  private final String fileSystem;
  private final int buffered;
  private final boolean writable;

  /** The same file past the page cache, or minus an errno. */
  private final int direct;

  /**
   * What memory, and what offsets and lengths must be multiples of; 0 if direct is not to be had.
   */
  private final long memoryAlignment;

  private final long offsetAlignment;

  private OpenFile(String path, int buffered, int mode) {
    this.path = path;
    this.buffered = buffered;
    this.writable = (mode & CuFileCalls.WRITE) != 0;
    this.fileSystem = FileSystems.name(CuFileCalls.fileSystem(buffered));
    int fd =
        CuFileCalls.reopen(
            buffered, (mode & (CuFileCalls.READ | CuFileCalls.WRITE)) | CuFileCalls.DIRECT);
    long alignment = fd < 0 ? 0 : alignment(fd, (mode & CuFileCalls.READ) != 0);
    if (fd >= 0 && alignment == 0) {
      CuFileCalls.close(fd);
      fd = -CuFileCalls.invalid();
    }
    this.direct = fd;
    this.memoryAlignment = alignment >>> 32;
    this.offsetAlignment = alignment & 0xFFFFFFFFL;
  }

  static OpenFile open(Path path, Set<? extends OpenOption> options) {
    int mode = mode(options);
    String name = path.toAbsolutePath().toString();
    int fd = CuFileCalls.open(name, mode);
    if (fd < 0) {
      throw CuFileException.ofNegative(
          "open", fd, new Where(name, -1, -1, FileSystems.ofFolder(path), "options=" + options));
    }
    return adopt(name, fd, mode);
  }

  static OpenFile open(FileChannel channel) {
    int fd = CuFileCalls.ofChannel(channel);
    if (fd < 0) {
      throw new IllegalArgumentException(
          "the channel is closed, or none of the JDK's own with a file descriptor");
    }
    return adopt(CuFileCalls.path(fd), fd, CuFileCalls.mode(fd));
  }

  private static OpenFile adopt(String name, int fd, int mode) {
    if (!CuFileCalls.isStorage(fd)) {
      CuFileCalls.close(fd);
      throw new IllegalArgumentException(name + " is neither a regular file nor a block device");
    }
    return new OpenFile(name, fd, mode);
  }

  private static int mode(Set<? extends OpenOption> options) {
    int mode = 0;
    for (OpenOption option : options) {
      if (!(option instanceof StandardOpenOption standard)) {
        throw new IllegalArgumentException("the option " + option + " is not known here");
      }
      mode |=
          switch (standard) {
            case READ -> CuFileCalls.READ;
            case WRITE -> CuFileCalls.WRITE;
            case CREATE -> CuFileCalls.CREATE;
            case TRUNCATE_EXISTING -> CuFileCalls.TRUNCATE;
            default ->
                throw new IllegalArgumentException("the option " + option + " is not known here");
          };
    }
    return mode == 0 ? CuFileCalls.READ : mode;
  }

  /** Memory's alignment above, offset's below; asked from the file system, else tried out. */
  private static long alignment(int fd, boolean readable) {
    long told = CuFileCalls.statx(fd);
    if (told >= 0) {
      return told;
    }
    if (readable && CuFileCalls.fileSize(fd) > 0) {
      return tried(fd);
    }
    long block = Math.max(CuFileCalls.blockBytes(fd), 512);
    long pages = Math.max(CuFileCalls.pageBytes(), block);
    return (pages << 32) | pages;
  }

  /** The smallest alignment with which a direct read succeeds. */
  private static long tried(int fd) {
    long memory = CuFileCalls.allocate(2 * TRIAL_BYTES, TRIAL_BYTES);
    try {
      for (long step = 512; step <= TRIAL_BYTES; step *= 2) {
        if (CuFileCalls.pread(fd, memory + step, step, 0) >= 0) {
          return (step << 32) | step;
        }
      }
      return 0;
    } finally {
      CuFileCalls.free(memory);
    }
  }

  String path() {
    return path;
  }

  String fileSystem() {
    return fileSystem;
  }

  int buffered() {
    return buffered;
  }

  int direct() {
    return direct;
  }

  boolean isWritable() {
    return writable;
  }

  long memoryAlignment() {
    return memoryAlignment;
  }

  long offsetAlignment() {
    return offsetAlignment;
  }

  Where where(long offsetBytes, long lengthBytes, String more) {
    return new Where(path, offsetBytes, lengthBytes, fileSystem, more);
  }

  void close() {
    if (direct >= 0) {
      CuFileCalls.close(direct);
    }
    CuFileCalls.close(buffered);
  }
}
