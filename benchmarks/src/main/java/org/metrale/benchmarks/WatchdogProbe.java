package org.metrale.benchmarks;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.metrale.gpu.NativeLibrary;

/**
 * What the watchdog's thread uses of a core, with so many communicators. Whether operations stay
 * open is the no-op library's affair: with METRALE_NOOP_PENDING their events never pass.
 */
final class WatchdogProbe {
  private static final String THREAD = "metrale-nccl-watchdog";
  private static final int COUNTED = 8;

  private static volatile boolean ended;

  private WatchdogProbe() {}

  public static void main(String[] arguments) throws InterruptedException {
    int most = Integer.parseInt(arguments[0]);
    boolean busy = System.getenv("METRALE_NOOP_PENDING") != null;
    int millis = Setting.childPace().choose(50, 1000, 2000);
    if (busy) {
      sleeper(millis);
    }
    List<Rank> ranks = new ArrayList<>();
    for (int count = 1; count <= most; count *= COUNTED) {
      while (ranks.size() < count) {
        ranks.add(new Rank());
      }
      for (Rank rank : ranks) {
        rank.allReduce();
      }
      // Time for those that can to end.
      Thread.sleep(millis / 4);
      double[] percent = shares(THREAD, millis);
      String communicators = count + (count == 1 ? " communicator " : " communicators ");
      Probe.say(
          communicators + (busy ? "busy" : "idle"),
          "checked",
          Level.of(NativeLibrary.NCCL),
          "% of a core",
          percent);
    }
    // Operations that never end would only be waited for.
    Runtime.getRuntime().halt(0);
  }

  /** What waking up every millisecond costs without doing anything: less cannot be had. */
  private static void sleeper(int millis) throws InterruptedException {
    Thread sleeper =
        new Thread(
            () -> {
              while (!ended) {
                LockSupport.parkNanos(1_000_000);
              }
            },
            "sleeper");
    sleeper.setDaemon(true);
    sleeper.start();
    Thread.sleep(millis / 4);
    Probe.say(
        "a thread that wakes up every millisecond, nothing else",
        "java",
        Level.NONE,
        "% of a core",
        shares("sleeper", millis));
    ended = true;
  }

  private static double[] shares(String thread, int millis) throws InterruptedException {
    double[] percent = new double[3];
    for (int i = 0; i < percent.length; i++) {
      percent[i] = share(thread, millis / percent.length);
    }
    return percent;
  }

  private static double share(String name, int millis) throws InterruptedException {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    long id =
        Thread.getAllStackTraces().keySet().stream()
            .filter(thread -> thread.getName().equals(name))
            .findFirst()
            .orElseThrow()
            .getId();
    long cpu = threads.getThreadCpuTime(id);
    long begin = System.nanoTime();
    Thread.sleep(millis);
    return 100.0 * (threads.getThreadCpuTime(id) - cpu) / (System.nanoTime() - begin);
  }
}
