package org.metrale.tools;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import me.tongfei.progressbar.ConsoleProgressBarConsumer;
import me.tongfei.progressbar.ProgressBar;
import me.tongfei.progressbar.ProgressBarBuilder;
import me.tongfei.progressbar.ProgressBarStyle;

/** A bar on the terminal; nothing where standard error is none. */
final class Progress implements AutoCloseable {
  private static final int WIDTH = 78;
  private static final int MILLIS = 200;

  private final ProgressBar bar;

  private Progress(ProgressBar bar) {
    this.bar = bar;
  }

  /** A bar of bytes, if wanted and if somebody can see it. */
  static Progress ofBytes(String task, long bytes, boolean wanted) {
    if (!wanted || !isTerminal()) {
      return new Progress(null);
    }
    long unit = bytes < 10_000_000 ? 1 : 1 << 20;
    return new Progress(
        new ProgressBarBuilder()
            .setConsumer(new ConsoleProgressBarConsumer(System.err, WIDTH))
            .setStyle(ProgressBarStyle.ASCII)
            .setUpdateIntervalMillis(MILLIS)
            .setInitialMax(bytes)
            .setUnit(unit == 1 ? " B" : " MiB", unit)
            .setTaskName(task)
            .showSpeed()
            .build());
  }

  /** Whether standard error goes to a terminal. */
  static boolean isTerminal() {
    try {
      String target = Files.readSymbolicLink(Path.of("/proc/self/fd/2")).toString();
      return target.startsWith("/dev/pts/") || target.startsWith("/dev/tty");
    } catch (IOException | UnsupportedOperationException e) {
      return false;
    }
  }

  void to(long done) {
    if (bar != null) {
      bar.stepTo(done);
    }
  }

  @Override
  public void close() {
    if (bar != null) {
      bar.close();
    }
  }
}
