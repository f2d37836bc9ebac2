package org.metrale.tools;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.LongSupplier;
import org.metrale.gpu.nccl.NcclException;
import org.metrale.gpu.nccl.NcclFlightRecord;
import org.metrale.gpu.nccl.NcclOperation;

/**
 * How the ranks of this process got on when the rank of the other one was killed.
 *
 * @param survivors what each remaining rank met
 * @param missing who did not take part, by all ranks' flight records
 * @param exitCode how the killed process ended
 */
record DemoLoss(List<Survivor> survivors, Missing missing, Optional<Integer> exitCode) {
  /** What the scheduler of a busy machine may add to a deadline. */
  private static final Duration SLACK = Duration.ofSeconds(1);

  private static final int ROUNDS_BEFORE = 10;

  /**
   * Who did not take part.
   *
   * @param description what the rank never did
   */
  record Missing(int rank, String description) {}

  /**
   * What one rank met.
   *
   * @param nanos from the kill until it came back
   * @param inTime whether that was within its deadline
   * @param failure what it was told
   */
  record Survivor(int rank, long nanos, boolean inTime, String failure) {}

  /** Runs operations, kills the peer while they run, and sees what becomes of the ranks here. */
  static DemoLoss provoke(DemoRanks ranks, DemoPeer peer, DemoPlan plan)
      throws ToolException, InterruptedException {
    ExecutorService waiting = Executors.newFixedThreadPool(ranks.all().size());
    try {
      long bytes = plan.bytes().get(0);
      for (int i = 0; i < ROUNDS_BEFORE; i++) {
        if (!round(ranks, bytes, plan, waiting, System::nanoTime).isEmpty()) {
          throw new ToolException("the ranks failed before one was killed");
        }
      }
      long done = ranks.all().get(0).communicator().flightRecord().lastCompleted();
      peer.awaitReport(done, plan.deadline());
      long[] killedAt = new long[1];
      // The others have issued the next operation by now, and the peer still pauses.
      LongSupplier kill =
          () -> {
            peer.kill();
            killedAt[0] = System.nanoTime();
            return killedAt[0];
          };
      List<Survivor> survivors = round(ranks, bytes, plan, waiting, kill);
      while (survivors.isEmpty()) {
        if (System.nanoTime() - killedAt[0] > 2 * plan.deadline().toNanos()) {
          throw new ToolException("operations went on although a rank was killed");
        }
        survivors = round(ranks, bytes, plan, waiting, () -> killedAt[0]);
      }
      Optional<Integer> ended = peer.exitCode(plan.deadline());
      return new DemoLoss(survivors, missing(ranks, peer), ended);
    } finally {
      waiting.shutdownNow();
    }
  }

  /** Whether the lost rank was named and everybody else came back in time. */
  boolean isRight(int lostRank, int ranks) {
    return survivors.size() == ranks - 1
        && survivors.stream().allMatch(Survivor::inTime)
        && missing.rank() == lostRank;
  }

  /**
   * One operation on every rank; empty if it was done on all of them.
   *
   * @param issued called when it was issued; answers since when survivors are timed
   */
  private static List<Survivor> round(
      DemoRanks ranks, long bytes, DemoPlan plan, ExecutorService waiting, LongSupplier issued)
      throws ToolException, InterruptedException {
    List<NcclOperation> operations = new ArrayList<>();
    NcclException refused = null;
    try {
      operations.addAll(ranks.issue(DemoExercise.ALL_REDUCE, bytes));
    } catch (NcclException e) {
      refused = e;
    }
    long since = issued.getAsLong();
    List<Callable<Optional<Survivor>>> waits = new ArrayList<>();
    for (int i = 0; i < ranks.all().size(); i++) {
      DemoRank rank = ranks.all().get(i);
      NcclException broken = refused;
      NcclOperation operation = refused == null ? operations.get(i) : null;
      waits.add(() -> wait(rank, operation, broken, plan.deadline(), since));
    }
    List<Survivor> out = new ArrayList<>();
    for (Future<Optional<Survivor>> one : waiting.invokeAll(waits)) {
      try {
        one.get().ifPresent(out::add);
      } catch (ExecutionException e) {
        throw new ToolException("waiting failed: " + e.getCause().getMessage(), e.getCause());
      }
    }
    return out;
  }

  private static Optional<Survivor> wait(
      DemoRank rank, NcclOperation operation, NcclException refused, Duration deadline, long since)
      throws InterruptedException {
    String told;
    boolean back = true;
    try {
      if (refused != null) {
        throw refused;
      }
      if (operation.await(deadline.multipliedBy(2))) {
        return Optional.empty();
      }
      back = false;
      told = "still waiting after twice its deadline";
    } catch (NcclException e) {
      told = rank.communicator().failure().orElse(e).getMessage();
    }
    long nanos = System.nanoTime() - since;
    boolean inTime = back && nanos <= deadline.plus(SLACK).toNanos();
    return Optional.of(new Survivor(rank.communicator().rank(), nanos, inTime, told));
  }

  private static Missing missing(DemoRanks ranks, DemoPeer peer) {
    List<NcclFlightRecord> records = new ArrayList<>();
    ranks.all().forEach(rank -> records.add(rank.communicator().flightRecord()));
    peer.lastRecord().ifPresent(records::add);
    Optional<NcclFlightRecord.Difference> difference = NcclFlightRecord.compare(records);
    if (peer.lastRecord().isPresent() && difference.isPresent()) {
      return new Missing(difference.get().rank(), difference.get().description());
    }
    // The others were told before they issued another operation.
    String last =
        peer.lastRecord()
            .map(record -> "reported nothing after operation " + record.lastCompleted())
            .orElse("reported nothing");
    return new Missing(peer.rank(), "rank " + peer.rank() + " " + last);
  }
}
