package org.metrale.benchmarks;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaEvent;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.verbs.VerbsMemoryRegion;
import org.metrale.gpu.wire.RoRailFrame;

/** How the checked layer scales: threads, communicators, regions, completions a poll. */
final class ScaleProbe {
  private static final int WORKER_BATCH = 256;
  private static final int[] COUNTS = {1, 8, 64, 512, 4096};
  private static final String WATCHDOG = "metrale-nccl-watchdog";

  /** More operations than a communicator has events, which it makes as it needs them. */
  private static final int FIRST_OPERATIONS = 128;

  private static final String WORKER = "benchmark-worker-";

  private ScaleProbe() {}

  /** Work of one thread, on objects that only it uses. */
  private interface Piece {
    void run();
  }

  public static void main(String[] arguments) throws Exception {
    threads("all-reduce", Level.of(NativeLibrary.NCCL), ScaleProbe::allReduces);
    threads("event record + query", Level.of(NativeLibrary.CUDA), ScaleProbe::records);
    threads("post + reap 64", Level.of(NativeLibrary.IBVERBS), ScaleProbe::posts);
    completions();
    regions();
    frames();
    communicators();
    System.out.flush();
    // A thousand communicators would be closed one after the other.
    Runtime.getRuntime().halt(0);
  }

  @SuppressWarnings("MustBeClosed") // the process ends
  private static Piece allReduces() {
    try {
      Rank rank = new Rank();
      return rank::allReduce;
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  @SuppressWarnings("MustBeClosed") // the process ends
  private static Piece records() {
    CudaContext context = CudaContext.openPrimary(0);
    CudaStream stream = CudaStream.create(context);
    CudaEvent event = CudaEvent.create(context);
    return () -> {
      stream.record(event);
      stream.isIdle();
    };
  }

  private static Piece posts() {
    QueuePair pair = new QueuePair();
    return pair::postAndReap;
  }

  /** Independent objects on 1, 2 and 4 threads: what all do together, and who waits for whom. */
  private static void threads(String work, String level, Supplier<Piece> make) throws Exception {
    for (int count = 1; count <= 4; count *= 2) {
      List<Piece> pieces = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        pieces.add(make.get());
      }
      together(pieces, 200);
      double[] rates = new double[Setting.childPace().repeats()];
      Contention contention = new Contention();
      for (int i = 0; i < rates.length; i++) {
        rates[i] = together(pieces, Setting.childPace().choose(5, 150, 300));
      }
      String name = work + ", " + count + (count == 1 ? " thread" : " threads");
      Probe.say(name, "checked", level, "ops/s", rates);
      Waits waits = contention.end();
      Probe.say(name, "waits for another thread", level, "events", waits.others());
      Probe.say(name, "waits for the watchdog", level, "events", waits.watchdog());
      waits
          .places()
          .forEach((place, times) -> System.err.println(name + ": " + times + " at " + place));
    }
  }

  /** How many a second all of them do. */
  private static double together(List<Piece> pieces, int millis) throws InterruptedException {
    CountDownLatch start = new CountDownLatch(1);
    long[] counts = new long[pieces.size()];
    long[] nanos = new long[pieces.size()];
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < pieces.size(); i++) {
      int index = i;
      Piece piece = pieces.get(i);
      Thread thread =
          new Thread(
              () -> {
                try {
                  start.await();
                } catch (InterruptedException e) {
                  return;
                }
                long begin = System.nanoTime();
                long count = 0;
                do {
                  for (int j = 0; j < WORKER_BATCH; j++) {
                    piece.run();
                  }
                  count += WORKER_BATCH;
                  nanos[index] = System.nanoTime() - begin;
                } while (nanos[index] < millis * 1_000_000L);
                counts[index] = count;
              },
              WORKER + index);
      thread.start();
      threads.add(thread);
    }
    start.countDown();
    double rate = 0;
    for (int i = 0; i < threads.size(); i++) {
      threads.get(i).join();
      rate += 1e9 * counts[i] / nanos[i];
    }
    return rate;
  }

  /**
   * What the flight recorder saw of waiting.
   *
   * @param others how often in this module for a lock that no watchdog held, or parked
   * @param watchdog how often for a lock of a communicator while the watchdog looked after it
   * @param places how often at which place, also outside this module
   */
  private record Waits(int others, int watchdog, Map<String, Integer> places) {}

  /** The flight recorder's events of waiting for a lock, of any length, while workers work. */
  private static final class Contention {
    private final Recording recording = new Recording();

    Contention() {
      recording.enable("jdk.JavaMonitorEnter").withThreshold(Duration.ZERO);
      recording.enable("jdk.ThreadPark").withThreshold(Duration.ZERO);
      recording.start();
    }

    Waits end() throws IOException {
      Path file = Files.createTempFile("contention", ".jfr");
      try {
        recording.stop();
        recording.dump(file);
        Map<String, Integer> places = new TreeMap<>();
        int others = 0;
        int watchdog = 0;
        for (RecordedEvent event : RecordingFile.readAllEvents(file)) {
          RecordedThread thread = event.getThread();
          String place = place(event);
          // The latch at the start is this class's own.
          if (thread != null
              && thread.getJavaName() != null
              && thread.getJavaName().startsWith(WORKER)
              && !isStart(event)) {
            places.merge(place, 1, Integer::sum);
            if (!isOurs(event)) {
              continue;
            }
            if (WATCHDOG.equals(holder(event))) {
              watchdog++;
            } else {
              others++;
            }
          }
        }
        return new Waits(others, watchdog, places);
      } finally {
        recording.close();
        Files.delete(file);
      }
    }
  }

  /** The thread that had the lock before, if it was a lock and it is known. */
  private static String holder(RecordedEvent event) {
    RecordedThread thread =
        event.hasField("previousOwner") ? event.getThread("previousOwner") : null;
    return thread == null || thread.getJavaName() == null ? "" : thread.getJavaName();
  }

  /** Whether it waited in this module: a thread that ends waits for the JVM's own locks too. */
  private static boolean isOurs(RecordedEvent event) {
    return event.getStackTrace() == null
        || event.getStackTrace().getFrames().stream().anyMatch(f -> isOurs(typeOf(f)));
  }

  private static boolean isOurs(String type) {
    return type.startsWith("org.metrale.") && !type.startsWith("org.metrale.benchmarks.");
  }

  private static String typeOf(RecordedFrame frame) {
    return frame.getMethod().getType().getName();
  }

  private static boolean isStart(RecordedEvent event) {
    return event.getStackTrace() != null
        && event.getStackTrace().getFrames().stream()
            .anyMatch(f -> typeOf(f).endsWith("CountDownLatch"));
  }

  /** The methods on the way to where somebody waited: ours, or who else's it is. */
  private static String place(RecordedEvent event) {
    String type = event.getEventType().getName();
    if (event.getStackTrace() == null) {
      return type;
    }
    boolean ours = isOurs(event);
    return type
        + (ours ? " in " : ", not counted, in ")
        + event.getStackTrace().getFrames().stream()
            .filter(f -> !ours || isOurs(typeOf(f)))
            .limit(3)
            .map(f -> typeOf(f) + "." + f.getMethod().getName())
            .collect(Collectors.joining(" < "));
  }

  private static void completions() {
    for (int count = 1; count <= 256; count *= 4) {
      QueuePair pair = new QueuePair(count);
      double[] nanos = perOperation(pair::postAndReap);
      for (int i = 0; i < nanos.length; i++) {
        nanos[i] /= count;
      }
      Probe.say(
          count + (count == 1 ? " completion" : " completions") + " a poll, each",
          "checked",
          Level.of(NativeLibrary.IBVERBS),
          "ns/op",
          nanos);
      pair.close();
    }
  }

  @SuppressWarnings("MustBeClosed") // closed below
  private static void regions() {
    for (int count : COUNTS) {
      QueuePair pair = new QueuePair();
      VerbsMemoryRegion[] regions = new VerbsMemoryRegion[count];
      for (int i = 0; i < count; i++) {
        regions[i] = VerbsMemoryRegion.allocate(pair.domain, 4096, VerbsAccess.LOCAL_WRITE);
      }
      int[] turn = {0};
      int step = Math.min(count, QueuePair.COUNT);
      VerbsMemoryRegion[] some = new VerbsMemoryRegion[step];
      double[] nanos =
          perOperation(
              () -> {
                // Every region in its turn.
                System.arraycopy(regions, turn[0], some, 0, step);
                turn[0] = (turn[0] + step) % count;
                pair.postAndReap(some);
              });
      for (int i = 0; i < nanos.length; i++) {
        nanos[i] /= QueuePair.COUNT;
      }
      Probe.say(
          count + (count == 1 ? " region" : " regions") + ", a request",
          "checked",
          Level.of(NativeLibrary.IBVERBS),
          "ns/op",
          nanos);
      for (VerbsMemoryRegion region : regions) {
        region.close();
      }
      pair.close();
    }
  }

  private static void frames() throws Exception {
    for (int count : COUNTS) {
      RoRailFrame frame = WireBenchmark.frame(WireBenchmark.RAILS, count);
      ByteBuffer bytes = frame.encode();
      double[] nanos =
          perOperation(
              () -> {
                try {
                  if (RoRailFrame.decode(bytes, WireBenchmark.RAILS).rails().isEmpty()) {
                    throw new IllegalStateException("empty");
                  }
                } catch (IOException e) {
                  throw new IllegalStateException(e);
                }
              });
      for (int i = 0; i < nanos.length; i++) {
        nanos[i] = bytes.remaining() / nanos[i];
      }
      Probe.say("decode 8 rails × " + count + " regions", "checked", Level.NONE, "GB/s", nanos);
    }
  }

  /** An operation on each in turn, and what each takes of memory. */
  private static void communicators() throws InterruptedException {
    int most = Setting.childPace().choose(10, 100, 1000);
    List<Rank> ranks = new ArrayList<>();
    for (int count = 1; count <= most; count *= 10) {
      long heap = usedHeap();
      int before = ranks.size();
      long begin = System.nanoTime();
      while (ranks.size() < count) {
        ranks.add(new Rank());
      }
      double made = (double) (System.nanoTime() - begin) / (count - before);
      double bytes = (double) (usedHeap() - heap) / (count - before);
      for (Rank rank : ranks.subList(before, count)) {
        for (int i = 0; i < FIRST_OPERATIONS; i++) {
          rank.allReduce();
        }
      }
      int[] turn = {0};
      double[] nanos =
          perOperation(
              () -> {
                ranks.get(turn[0]).allReduce();
                turn[0] = turn[0] + 1 == ranks.size() ? 0 : turn[0] + 1;
              });
      String level = Level.of(NativeLibrary.NCCL);
      String name = count + (count == 1 ? " communicator" : " communicators");
      Probe.say(name + ", an all-reduce in turn", "checked", level, "ns/op", nanos);
      Probe.say(name + ", making one", "checked", level, "ns/op", made);
      Probe.say(name + ", heap of one", "checked", level, "bytes", bytes);
    }
  }

  private static long usedHeap() {
    System.gc();
    return Runtime.getRuntime().totalMemory() - Runtime.getRuntime().freeMemory();
  }

  private static double[] perOperation(Piece piece) {
    Setting.Pace pace = Setting.childPace();
    long millis = pace.choose(1, 40, 100);
    double[] nanos = new double[pace.repeats()];
    for (int i = -pace.warmups(); i < nanos.length; i++) {
      long begin = System.nanoTime();
      long count = 0;
      long took;
      do {
        for (int j = 0; j < 64; j++) {
          piece.run();
        }
        count += 64;
        took = System.nanoTime() - begin;
      } while (took < millis * 1_000_000);
      if (i >= 0) {
        nanos[i] = (double) took / count;
      }
    }
    return nanos;
  }
}
