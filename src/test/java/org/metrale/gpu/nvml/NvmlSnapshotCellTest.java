package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class NvmlSnapshotCellTest {
  @Test
  void readersNeverSeeWordsOfTwoWrites() throws Exception {
    NvmlSnapshotCell cell = new NvmlSnapshotCell(NvmlSample.WORDS);
    AtomicBoolean done = new AtomicBoolean();
    AtomicLong torn = new AtomicLong();
    AtomicLong reads = new AtomicLong();
    Runnable reading =
        () -> {
          long[] words = new long[NvmlSample.WORDS];
          long last = 0;
          while (!done.get()) {
            cell.read(words);
            for (long word : words) {
              if (word != words[0]) {
                torn.incrementAndGet();
              }
            }
            if (words[0] < last) {
              torn.incrementAndGet();
            }
            last = words[0];
            reads.incrementAndGet();
          }
        };
    Thread one = new Thread(reading);
    Thread two = new Thread(reading);
    one.start();
    two.start();
    long[] words = new long[NvmlSample.WORDS];
    long end = System.nanoTime() + 700_000_000L;
    long value = 0;
    while (System.nanoTime() < end) {
      value++;
      java.util.Arrays.fill(words, value);
      cell.write(words);
    }
    done.set(true);
    one.join();
    two.join();
    assertEquals(0, torn.get());
    assertTrue(reads.get() > 100, "reads: " + reads);
    long[] last = new long[NvmlSample.WORDS];
    cell.read(last);
    assertEquals(value, last[NvmlSample.WORDS - 1]);
  }
}
