package org.metrale.tools;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaEvent;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.nccl.NcclCommunicator;
import org.metrale.gpu.nccl.NcclConfig;
import org.metrale.gpu.nccl.NcclGroup;
import org.metrale.gpu.nccl.NcclOperation;
import org.metrale.gpu.nccl.NcclUniqueId;

/** This process's ranks, opened together; closes everything in reverse order. */
final class DemoRanks implements AutoCloseable {
  /** How long joining may take: processes start slowly on busy machines. */
  static final Duration JOIN_TIMEOUT = Duration.ofSeconds(60);

  private static final int RECORDED = 32;

  private final List<AutoCloseable> opened = new ArrayList<>();
  private final List<DemoRank> ranks = new ArrayList<>();

  private DemoRanks() {}

  /** Joins as the ranks from {@code first}, each with the device of the same number. */
  static DemoRanks join(DemoPlan plan, NcclUniqueId id, int first, int count, int all)
      throws ToolException, InterruptedException {
    DemoRanks out = new DemoRanks();
    try {
      out.open(plan, id, first, count, all);
      return out;
    } catch (GpuException | InterruptedException e) {
      try {
        out.close();
      } catch (ToolException | GpuException second) {
        e.addSuppressed(second);
      }
      throw e;
    }
  }

  @SuppressWarnings("MustBeClosed") // close() closes what is in the list
  private void open(DemoPlan plan, NcclUniqueId id, int first, int count, int all)
      throws InterruptedException {
    NcclConfig config =
        NcclConfig.builder()
            .initTimeout(JOIN_TIMEOUT)
            .operationTimeout(plan.deadline())
            .closeTimeout(plan.deadline())
            .abortTimeout(plan.deadline())
            .recordedOperations(RECORDED)
            .build();
    List<CudaContext> contexts = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      contexts.add(opened(CudaContext.openPrimary(first + i)));
    }
    List<NcclCommunicator> communicators =
        NcclCommunicator.joinAll(contexts, List.of(id), all, first, config);
    communicators.forEach(this::opened);
    for (int i = 0; i < count; i++) {
      CudaContext context = contexts.get(i);
      ranks.add(
          new DemoRank(
              context,
              opened(CudaStream.create(context)),
              opened(DeviceMemory.allocate(context, plan.largestBytes())),
              opened(DeviceMemory.allocate(context, plan.largestBytes())),
              communicators.get(i)));
    }
  }

  private <T extends AutoCloseable> T opened(T one) {
    opened.add(one);
    return one;
  }

  List<DemoRank> all() {
    return ranks;
  }

  /** Issues one operation on every rank of this process, in one group. */
  List<NcclOperation> issue(DemoExercise exercise, long bytes) {
    return NcclGroup.run(group -> ranks.forEach(rank -> exercise.issue(group, rank, bytes)));
  }

  /** Runs an operation as often as planned and checks the last result. */
  DemoResult run(DemoExercise exercise, long bytes, DemoPlan plan, Runnable afterEach)
      throws ToolException, InterruptedException {
    for (DemoRank rank : ranks) {
      rank.prepare(bytes);
    }
    DemoRank timed = ranks.get(0);
    long[] nanos = new long[plan.iterations()];
    try (CudaEvent start = CudaEvent.createTimed(timed.context());
        CudaEvent end = CudaEvent.createTimed(timed.context())) {
      for (int i = 0; i < nanos.length; i++) {
        timed.stream().record(start);
        List<NcclOperation> operations = issue(exercise, bytes);
        timed.stream().record(end);
        for (NcclOperation operation : operations) {
          // The communicator's own deadline comes first and says more.
          operation.await(plan.deadline().multipliedBy(2));
        }
        end.synchronize(plan.deadline());
        nanos[i] = end.elapsedSince(start).map(Duration::toNanos).orElse(0L);
        afterEach.run();
      }
    }
    String problem = "";
    for (DemoRank rank : ranks) {
      problem = problem.isEmpty() ? rank.check(exercise, bytes).orElse("") : problem;
    }
    Arrays.sort(nanos);
    return new DemoResult(exercise, bytes, nanos[nanos.length / 2], problem);
  }

  @Override
  public void close() throws ToolException {
    ToolException failure = null;
    for (int i = opened.size() - 1; i >= 0; i--) {
      try {
        opened.get(i).close();
      } catch (Exception e) { // what AutoCloseable declares; all of them must be tried
        if (failure == null) {
          failure = new ToolException("closing failed: " + e.getMessage(), e);
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    opened.clear();
    if (failure != null) {
      throw failure;
    }
  }
}
