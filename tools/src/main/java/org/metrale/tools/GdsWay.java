package org.metrale.tools;

import java.io.IOException;

/** One way to bring a part of a file into the target. */
interface GdsWay extends AutoCloseable {
  /** Its name in tables. */
  String title();

  /** Which way the bytes took so far. */
  String route();

  /** Whether it passes by the page cache. */
  boolean isDirect();

  /** Reads one part to the beginning of the target; answers how many bytes came. */
  long read(long offsetBytes, int lengthBytes)
      throws IOException, ToolException, InterruptedException;

  @Override
  void close() throws IOException;
}
