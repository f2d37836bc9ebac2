package org.metrale.gpu;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** What a thread takes of the heap while it works. */
public final class Allocation {
  private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

  private Allocation() {}

  /** Work that is done again and again. */
  public interface Work {
    /** Does it. */
    void run() throws Exception;
  }

  /**
   * The bytes that this thread takes in a round, in that which takes fewest: what the JVM does of
   * its own comes and goes. The first rounds are interpreted, where every object counts.
   */
  public static long fewest(int rounds, Work round) throws Exception {
    long thread = Thread.currentThread().getId();
    THREADS.getThreadAllocatedBytes(thread);
    long fewest = Long.MAX_VALUE;
    for (int i = 0; i < rounds; i++) {
      long before = THREADS.getThreadAllocatedBytes(thread);
      round.run();
      fewest = Math.min(fewest, THREADS.getThreadAllocatedBytes(thread) - before);
    }
    return fewest;
  }
}
