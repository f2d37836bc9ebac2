package org.metrale.gpu.verbs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.FutureTask;
import org.metrale.gpu.RdmaDevices;

/**
 * What perftest measures, through the checked layer: {@code read|write bw|lat BYTES ITERATIONS}.
 * Prints one line, {@code MiB/s} or the median of microseconds: of a read, or of half the way of a
 * write and the write that answers it. {@code src/test/c/verbs/loop.c} does the same in C.
 */
final class PerftestProbe {
  private static final Duration LIMIT = Duration.ofSeconds(120);

  /** Requests in flight, as perftest has it. */
  private static final int DEPTH = 128;

  private static final int WARM_UP = 1000;

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
        new VerbsQueueSettings(bandwidth ? DEPTH : 1, VerbsAccess.READ_WRITE, VerbsPath.DEFAULT);
    VerbsEnd[] ends =
        VerbsEnd.pair(RdmaDevices.clients().get(0), asking, RdmaDevices.servers().get(0), serving);
    try (VerbsEnd client = ends[0];
        VerbsEnd server = ends[1]) {
      if (!bandwidth && !read) {
        System.out.printf("%.2f us%n", PingPong.medianMicros(client, server, bytes, iterations));
        return;
      }
      Work work =
          new Work(
              client,
              client.memory(bytes, VerbsAccess.LOCAL_WRITE),
              server.memory(bytes, VerbsAccess.READ_WRITE),
              read);
      // Before the first measured request, as perftest does too; longer, for what is compiled.
      work.run(bandwidth ? iterations / 2 : WARM_UP);
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

  /** Writes that answer each other; each side sees the other's by looking at its memory. */
  private static final class PingPong {
    private static final VarHandle INT =
        MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

    private final VerbsEnd end;
    private final ByteBuffer bytes;
    private final VerbsMemoryRegion region;
    private final VerbsWorkBatch batch = VerbsWorkBatch.allocate(1);
    private final VerbsCompletions done = VerbsCompletions.allocate(1);

    /** What is sent lies in the first half, what comes in the second. */
    PingPong(VerbsEnd end, int length) {
      this.end = end;
      this.bytes = ByteBuffer.allocateDirect(2 * length).alignedSlice(4);
      this.region = end.keep(VerbsMemoryRegion.of(end.domain, bytes, VerbsAccess.READ_WRITE));
    }

    /** Writes a number to the end of the other side's memory. */
    private void say(PingPong to, int turn) throws InterruptedException {
      int length = bytes.capacity() / 2;
      INT.setRelease(bytes, length - 4, turn);
      VerbsMemoryRegion far = to.region;
      batch.write(turn, region, 0, length, far.address() + length, far.rkey());
      if (end.pair.post(batch) != 1 || end.completions.poll(done, LIMIT) != 1) {
        throw new IllegalStateException("turn " + turn + " was not written");
      }
      if (!done.isSuccess(0)) {
        throw done.failure(0);
      }
    }

    private void hear(int turn) {
      int at = bytes.capacity() - 4;
      long end = System.nanoTime() + LIMIT.toNanos();
      for (int looks = 1; (int) INT.getAcquire(bytes, at) != turn; looks++) {
        if ((looks & 0xFFF) == 0 && System.nanoTime() - end >= 0) {
          throw new IllegalStateException("turn " + turn + " does not come");
        }
        Thread.onSpinWait();
      }
    }

    static double medianMicros(VerbsEnd client, VerbsEnd server, int length, int iterations)
        throws Exception {
      PingPong near = new PingPong(client, length);
      PingPong far = new PingPong(server, length);
      FutureTask<Void> answering =
          new FutureTask<>(
              () -> {
                for (int turn = 1; turn <= WARM_UP + iterations; turn++) {
                  far.hear(turn);
                  far.say(near, turn);
                }
                return null;
              });
      new Thread(answering, "answers").start();
      double[] micros = new double[iterations];
      for (int turn = 1; turn <= WARM_UP + iterations; turn++) {
        long start = System.nanoTime();
        near.say(far, turn);
        near.hear(turn);
        if (turn > WARM_UP) {
          micros[turn - WARM_UP - 1] = (System.nanoTime() - start) / 2e3;
        }
      }
      answering.get();
      Arrays.sort(micros);
      return micros[iterations / 2];
    }
  }
}
