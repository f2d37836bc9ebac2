package org.metrale.tools;

import org.metrale.emulator.Emulator;

/** A software GPU host whose files are removed however this process ends, short of being killed. */
final class StartedEmulator implements AutoCloseable {
  private final Emulator emulator;

  private StartedEmulator(Emulator emulator) {
    this.emulator = emulator;
  }

  static StartedEmulator of(Emulator emulator) {
    StartedEmulator out = new StartedEmulator(emulator);
    // For Ctrl-C; after an orderly end there is nothing left to do.
    Runtime.getRuntime().addShutdownHook(new Thread(out::close, "emulator-files"));
    return out;
  }

  @Override
  public synchronized void close() {
    emulator.close();
  }
}
