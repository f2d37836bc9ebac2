package org.metrale.tools;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/**
 * A file that gets its name only when it is complete; until then, and if it never is, nothing
 * stands under that name that did not before. What is left of it is removed, also when the process
 * is told to end.
 */
final class PartialFile implements AutoCloseable {
  private final Path target;
  private final Path part;
  private final FileChannel channel;
  private final Thread atEnd;

  private PartialFile(Path target, Path part, FileChannel channel) {
    this.target = target;
    this.part = part;
    this.channel = channel;
    this.atEnd = new Thread(this::remove, "partial-file");
  }

  /** What speaks against a target; null if nothing does. */
  static String problem(Path target) {
    Path folder = target.toAbsolutePath().getParent();
    if (Files.isDirectory(target)) {
      return target + " is a folder: expected a file's name";
    }
    if (folder == null || !Files.isDirectory(folder)) {
      return target + ": there is no folder " + folder;
    }
    if (Files.exists(target) && !Files.isRegularFile(target)) {
      return target + " is no regular file, and would be replaced by one";
    }
    return null;
  }

  static PartialFile create(Path target) throws ToolException {
    Path name = target.toAbsolutePath().getFileName();
    Path part =
        target
            .toAbsolutePath()
            .resolveSibling("." + name + "." + ProcessHandle.current().pid() + ".part");
    try {
      FileChannel channel =
          FileChannel.open(part, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE);
      PartialFile out = new PartialFile(target, part, channel);
      Runtime.getRuntime().addShutdownHook(out.atEnd);
      return out;
    } catch (IOException e) {
      throw new ToolException(part + " cannot be made: " + Messages.io(e), e);
    }
  }

  void write(ByteBuffer bytes) throws ToolException {
    try {
      while (bytes.hasRemaining()) {
        channel.write(bytes);
      }
    } catch (IOException e) {
      throw new ToolException(part + " cannot be written: " + Messages.io(e), e);
    }
  }

  /** The file is complete: it takes its name, once it is on the disk. */
  void keep() throws ToolException {
    try {
      channel.force(true);
      channel.close();
      Files.move(part, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    } catch (IOException e) {
      throw new ToolException(target + " cannot be put in its place: " + Messages.io(e), e);
    }
  }

  @Override
  public void close() {
    remove();
    try {
      Runtime.getRuntime().removeShutdownHook(atEnd);
    } catch (IllegalStateException e) {
      // the process is ending: the hook finds nothing left to do
    }
  }

  private void remove() {
    try {
      channel.close();
      Files.deleteIfExists(part);
    } catch (IOException e) {
      System.err.println(part + " cannot be removed: " + Messages.io(e));
    }
  }
}
