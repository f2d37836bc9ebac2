package org.metrale.benchmarks;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.nccl.NcclTcpBootstrap;

/** How long so many ranks take to agree on an id over loopback; all ranks are threads here. */
final class BootstrapProbe {
  private static final Duration LONG = Duration.ofSeconds(60);

  private BootstrapProbe() {}

  public static void main(String[] arguments) throws Exception {
    int most = Setting.childPace().choose(4, 64, 1024);
    for (int ranks = 4; ranks <= most; ranks *= 4) {
      agree(ranks);
      double[] nanos = new double[Setting.childPace().repeats()];
      for (int i = 0; i < nanos.length; i++) {
        nanos[i] = agree(ranks);
      }
      Probe.say(
          "bootstrap of " + ranks + " ranks",
          "checked",
          Level.of(NativeLibrary.NCCL),
          "ns/op",
          nanos);
    }
  }

  private static double agree(int ranks) throws Exception {
    int port;
    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      port = free.getLocalPort();
    }
    AtomicInteger failed = new AtomicInteger();
    List<Thread> threads = new ArrayList<>();
    long begin = System.nanoTime();
    for (int rank = 0; rank < ranks; rank++) {
      int mine = rank;
      Thread thread =
          new Thread(
              () -> {
                try {
                  NcclTcpBootstrap.onLoopback(port, LONG).agree(ranks, mine);
                } catch (IOException e) {
                  failed.incrementAndGet();
                }
              });
      threads.add(thread);
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    if (failed.get() > 0) {
      throw new IllegalStateException(failed.get() + " of " + ranks + " ranks did not agree");
    }
    return System.nanoTime() - begin;
  }
}
