package org.metrale.gpu.verbs;

import java.time.Duration;
import java.util.Arrays;
import org.metrale.gpu.RdmaDevices;

/**
 * What perftest measures, through the checked layer: {@code read|write bw|lat BYTES ITERATIONS}.
 * Prints one line, {@code MiB/s} or the median of microseconds.
 */
final class PerftestProbe {
  private static final Duration LIMIT = Duration.ofSeconds(120);

  /** Requests in flight, as perftest has it. */
  private static final int DEPTH = 128;

  private PerftestProbe() {}

  /** Runs it. */
  public static void main(String[] arguments) throws Exception {
    boolean read = arguments[0].equals("read");
    boolean bandwidth = arguments[1].equals("bw");
    int bytes = Integer.parseInt(arguments[2]);
    int iterations = Integer.parseInt(arguments[3]);
    VerbsQueueSettings serving =
        new VerbsQueueSettings(1, VerbsAccess.READ_WRITE, VerbsPath.DEFAULT);
    VerbsQueueSettings asking =
        new VerbsQueueSettings(bandwidth ? DEPTH : 1, VerbsAccess.LOCAL_READ, VerbsPath.DEFAULT);
    VerbsEnd[] ends =
        VerbsEnd.pair(RdmaDevices.clients().get(0), asking, RdmaDevices.servers().get(0), serving);
    try (VerbsEnd client = ends[0];
        VerbsEnd server = ends[1]) {
      Work work =
          new Work(
              client,
              client.memory(bytes, VerbsAccess.LOCAL_WRITE),
              server.memory(bytes, VerbsAccess.READ_WRITE),
              read);
      // Before the first measured request, as perftest does too.
      work.run(bandwidth ? 10 : 1000);
      if (bandwidth) {
        long start = System.nanoTime();
        work.run(iterations);
        double seconds = (System.nanoTime() - start) / 1e9;
        System.out.printf("%.2f MiB/s%n", (double) bytes * iterations / (1 << 20) / seconds);
      } else {
        System.out.printf("%.2f us%n", work.median(iterations));
      }
    }
  }

  /** Requests of one length, again and again. */
  private static final class Work {
    private final VerbsEnd client;
    private final VerbsMemoryRegion near;
    private final VerbsMemoryRegion far;
    private final boolean read;
    private final VerbsWorkBatch batch = VerbsWorkBatch.allocate(1);
    private final VerbsCompletions done = VerbsCompletions.allocate(16);

    Work(VerbsEnd client, VerbsMemoryRegion near, VerbsMemoryRegion far, boolean read) {
      this.client = client;
      this.near = near;
      this.far = far;
      this.read = read;
    }

    void run(int iterations) throws InterruptedException {
      int posted = 0;
      int finished = 0;
      while (finished < iterations) {
        while (posted < iterations && post(posted)) {
          posted++;
        }
        int count = client.completions.poll(done, LIMIT);
        for (int i = 0; i < count; i++) {
          if (!done.isSuccess(i)) {
            throw done.failure(i);
          }
        }
        finished += count;
      }
    }

    private boolean post(long id) {
      if (batch.isEmpty()) {
        if (read) {
          batch.read(id, near, 0, near.lengthBytes(), far.address(), far.rkey());
        } else {
          batch.write(id, near, 0, near.lengthBytes(), far.address(), far.rkey());
        }
      }
      return client.pair.post(batch) == 1;
    }

    double median(int iterations) throws InterruptedException {
      double[] micros = new double[iterations];
      for (int i = 0; i < iterations; i++) {
        long start = System.nanoTime();
        run(1);
        micros[i] = (System.nanoTime() - start) / 1e3;
      }
      Arrays.sort(micros);
      return micros[iterations / 2];
    }
  }
}
