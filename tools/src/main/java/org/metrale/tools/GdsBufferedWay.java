package org.metrale.tools;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Reads as any Java program does, through the page cache, then copies to the target and waits for
 * it.
 */
final class GdsBufferedWay implements GdsWay {
  private final FileChannel channel;
  private final GdsTarget target;

  GdsBufferedWay(Path file, GdsTarget target) throws IOException {
    this.channel = FileChannel.open(file, StandardOpenOption.READ);
    this.target = target;
  }

  @Override
  public String title() {
    return "POSIX buffered";
  }

  @Override
  public String route() {
    return "page cache";
  }

  @Override
  public boolean isDirect() {
    return false;
  }

  @Override
  public long read(long offsetBytes, int lengthBytes)
      throws IOException, ToolException, InterruptedException {
    ByteBuffer staging = target.staging(lengthBytes);
    while (staging.hasRemaining()) {
      if (channel.read(staging, offsetBytes + staging.position()) < 0) {
        break;
      }
    }
    // Waits: the next read must not overwrite what is still being copied.
    target.complete(staging.position());
    return staging.position();
  }

  @Override
  public void close() throws IOException {
    channel.close();
  }
}
