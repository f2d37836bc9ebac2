package org.metrale.tools;

import java.nio.ByteBuffer;
import java.util.concurrent.Callable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** Fills a large buffer, has it copied, and writes over its end at once. */
@Command(name = "scenario")
final class GdsTargetScenario implements Callable<Integer> {
  private static final int BYTES = 128 << 20;
  private static final byte RIGHT = 17;
  private static final byte LATE = 99;

  @Mixin private EmulatorOptions emulatorOptions;

  /** For the parser of arguments. */
  GdsTargetScenario() {}

  public static void main(String[] arguments) {
    System.exit(new CommandLine(new GdsTargetScenario()).execute(arguments));
  }

  @Override
  public Integer call() throws Exception {
    AutoCloseable emulator = emulatorOptions.startIfWanted();
    try (GdsTarget target = GdsTarget.open(0, BYTES)) {
      ByteBuffer staging = target.staging(BYTES);
      staging.put(BYTES - 1, RIGHT);
      target.complete(BYTES);
      staging.put(BYTES - 1, LATE);
      System.out.println("same=" + (target.contents(BYTES).get(BYTES - 1) == RIGHT));
      return 0;
    } finally {
      emulator.close();
    }
  }
}
