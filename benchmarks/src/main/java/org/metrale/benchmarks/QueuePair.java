package org.metrale.benchmarks;

import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.verbs.VerbsCompletionQueue;
import org.metrale.gpu.verbs.VerbsCompletions;
import org.metrale.gpu.verbs.VerbsDevice;
import org.metrale.gpu.verbs.VerbsMemoryRegion;
import org.metrale.gpu.verbs.VerbsPreparedQueuePair;
import org.metrale.gpu.verbs.VerbsProtectionDomain;
import org.metrale.gpu.verbs.VerbsQueuePair;
import org.metrale.gpu.verbs.VerbsQueueSettings;
import org.metrale.gpu.verbs.VerbsRemote;
import org.metrale.gpu.verbs.VerbsWorkBatch;

/** A connected queue pair of the adapter that does nothing, through the checked layer. */
final class QueuePair implements AutoCloseable {
  static final int COUNT = 64;
  private static final int BYTES = 4096;
  private static final long REMOTE = 0x7f00_0000_0000L;

  final VerbsDevice device;
  final VerbsProtectionDomain domain;
  final VerbsMemoryRegion region;
  private final VerbsCompletionQueue queue;
  private final VerbsQueuePair pair;
  private final VerbsWorkBatch batch;
  private final VerbsCompletions completions;
  private final int depth;

  QueuePair() {
    this(COUNT);
  }

  @SuppressWarnings("MustBeClosed") // close() does
  QueuePair(int depth) {
    NoOp.require(NativeLibrary.IBVERBS);
    this.depth = depth;
    batch = VerbsWorkBatch.allocate(depth);
    completions = VerbsCompletions.allocate(depth);
    device = VerbsDevice.open(VerbsDevice.list().get(0));
    domain = VerbsProtectionDomain.open(device);
    region = VerbsMemoryRegion.allocate(domain, (long) depth * BYTES, VerbsAccess.LOCAL_WRITE);
    queue = VerbsCompletionQueue.open(device, Math.max(512, depth));
    VerbsPreparedQueuePair prepared =
        VerbsPreparedQueuePair.open(domain, queue, VerbsQueueSettings.DEFAULT, 0x123456);
    pair =
        prepared.connect(
            new VerbsRemote(
                prepared.number(), prepared.packetNumber(), prepared.gid().gid(), prepared.lid()));
  }

  /** Fills, posts and reaps as many requests as fit; reads what the loop in C reads. */
  long postAndReap() {
    for (int i = 0; i < depth; i++) {
      batch.read(i, region, (long) i * BYTES, BYTES, REMOTE + (long) i * BYTES, 0x1234);
    }
    return postAndReapFilled();
  }

  /** The same with as many small regions in turn. */
  long postAndReap(VerbsMemoryRegion[] regions) {
    int next = 0;
    for (int i = 0; i < depth; i++) {
      batch.read(i, regions[next], 0, BYTES, REMOTE + (long) i * BYTES, 0x1234);
      next = next + 1 < regions.length ? next + 1 : 0;
    }
    return postAndReapFilled();
  }

  private long postAndReapFilled() {
    if (pair.post(batch) != depth) {
      throw new IllegalStateException("not all were taken");
    }
    int count = queue.pollOnce(completions);
    long sum = 0;
    for (int i = 0; i < count; i++) {
      if (!completions.isSuccess(i)) {
        throw new IllegalStateException("failed");
      }
      sum += completions.workId(i) + completions.byteCount(i);
    }
    if (count != depth) {
      throw new IllegalStateException(count + " completions");
    }
    return sum;
  }

  @Override
  public void close() {
    pair.close();
    queue.close();
    region.close();
    domain.close();
    device.close();
  }
}
