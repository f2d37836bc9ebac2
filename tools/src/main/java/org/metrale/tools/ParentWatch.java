package org.metrale.tools;

import java.io.BufferedReader;
import java.io.IOException;

/** Ends this process when the one that started it is gone, whatever a library is doing. */
final class ParentWatch {
  /** How the process ends then. */
  static final int PARENT_GONE = 3;

  private ParentWatch() {}

  /** Waits for the end of standard input, which the parent keeps open. */
  static void begin(BufferedReader in) {
    Thread watch =
        new Thread(
            () -> {
              try {
                while (in.readLine() != null) {
                  // nothing else is said
                }
              } catch (IOException e) {
                // gone as well
              }
              Runtime.getRuntime().halt(PARENT_GONE);
            },
            "demo-parent-watch");
    watch.setDaemon(true);
    watch.start();
  }
}
