package org.metrale.gpu.rail;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.rail.RailException.Reason;
import org.metrale.gpu.rail.RailTransfer.Direction;
import org.metrale.gpu.verbs.VerbsWorkException;

/**
 * Deals pieces of transfers to rails and takes them back, one short step at a time.
 *
 * <p>Whoever waits takes steps: a blocking caller itself, else the driver's thread. No step waits
 * for anything, so that no rail can hold up another.
 */
final class TransferEngine implements RailLink.Owner, StepWatch.Watched {
  /** A piece that fails on this many rails in a row is itself what is wrong. */
  private static final int MOST_FAILURES = 4;

  /** How long a step may be waited for by who has no deadline. */
  private static final Duration STEP_LIMIT = Duration.ofSeconds(5);

  private final ReentrantLock lock = new ReentrantLock();
  private final String peer;

  /** Called with the lock held when a rail has failed. */
  private final Consumer<RailLink> onFailed;

  private final OpenTransfers transfers = new OpenTransfers();

  /** One a rail, the first rail first; another list when one is replaced. */
  private volatile List<RailLink> links = List.of();

  /** Written pieces that failed, the first to be due first. */
  private final RestingPieces resting = new RestingPieces();

  /** Whether lost rails can come back. */
  private final boolean recovering;

  private final StepWatch watch = new StepWatch(this);
  private volatile boolean closed;

  /** What is done as soon as a step is over that could not be waited for; null if nothing. */
  private final AtomicReference<Runnable> owed = new AtomicReference<>();

  /** Rails that others took the place of, and that are not closed. */
  private final List<RailLink> replaced = new CopyOnWriteArrayList<>();

  private final RailChoice choice = new RailChoice();
  private final Consumer<RailPiece> arrived = this::settled;

  TransferEngine(String peer, boolean recovering, Consumer<RailLink> onFailed) {
    this.peer = peer;
    this.recovering = recovering;
    this.onFailed = onFailed;
  }

  /** Begins with these rails. */
  void begin(List<RailLink> first) {
    links = List.copyOf(first);
  }

  /** Puts rails in place of those that are down; false if it was too late, and they are closed. */
  boolean replace(List<RailLink> fresh) {
    try {
      lock.lockInterruptibly();
    } catch (InterruptedException e) {
      // By who closes the rails, while a step does not come to an end.
      closeAll(fresh, Deadline.after(STEP_LIMIT));
      Thread.currentThread().interrupt();
      return false;
    }
    try {
      if (closed) {
        closeAll(fresh, Deadline.after(STEP_LIMIT));
        return false;
      }
      List<RailLink> now = new ArrayList<>(links);
      for (RailLink link : fresh) {
        RailLink before = now.set(link.rail(), link);
        link.follow(before);
        replaced.add(before);
      }
      replaced.removeIf(link -> link.ended().isDone());
      links = List.copyOf(now);
      return true;
    } finally {
      unlock();
    }
  }

  List<RailLink> links() {
    return links;
  }

  /** Takes no lock: a step that does not come to an end keeps nobody from asking. */
  void submit(RailTransfer transfer) {
    transfers.add(transfer);
    try {
      watch.look();
    } catch (OutOfMemoryError e) {
      // Nobody would see to its deadline.
      abandon(transfer, failure(Reason.LOCAL_FAULT, -1, transfer, e));
    }
    if (closed) {
      abandon(transfer, failure(Reason.CLOSED, -1, transfer, null));
    }
  }

  /** Ends a transfer that the caller has given up. */
  void cancel(RailTransfer transfer) {
    abandon(transfer, failure(Reason.CANCELLED, -1, transfer, null));
  }

  private void abandon(RailTransfer transfer, RailException why) {
    if (!StepWatch.tryLock(lock, Deadline.after(STEP_LIMIT))) {
      transfer.abandon(why);
      return;
    }
    try {
      end(transfer, why);
    } finally {
      unlock();
    }
  }

  /** Does something with one of the present rails. */
  void with(int rail, Consumer<RailLink> action) {
    if (!StepWatch.tryLock(lock, Deadline.after(STEP_LIMIT))) {
      throw new IllegalStateException("a call of a device of the rails does not return");
    }
    try {
      action.accept(links.get(rail));
    } finally {
      unlock();
    }
  }

  /**
   * Refuses to wait for steps that would never be taken: whoever tells a listener of a transfer is
   * in the middle of one.
   */
  void requireNoStep() {
    if (lock.isHeldByCurrentThread()) {
      throw new IllegalStateException("a listener of a transfer must not wait for another");
    }
  }

  /** Takes a step if no other thread is about to; true if something moved. */
  boolean tryStep() {
    if (!lock.tryLock()) {
      return false;
    }
    try {
      return step();
    } finally {
      unlock();
    }
  }

  /** Whether there is something that steps would move. */
  boolean isBusy() {
    lock.lock();
    try {
      return !transfers.isEmpty() || !resting.isEmpty() || anyMoving();
    } finally {
      unlock();
    }
  }

  /** Also if it is for a transfer that is over: its memory waits for that. */
  private boolean anyMoving() {
    for (RailLink link : links) {
      if (!link.isIdle() || link.state().equals(RailStatus.State.FAILING)) {
        return true;
      }
    }
    return false;
  }

  private boolean step() {
    boolean moved = false;
    long now = System.nanoTime();
    watch.begin(now);
    try {
      transfers.takeIn();
      List<RailLink> present = links;
      for (int i = 0; i < present.size(); i++) {
        watch.at(i);
        moved |= step(present.get(i), now);
      }
      resting.wake(now);
      moved |= deal(present);
      sweep(now);
      return moved;
    } finally {
      watch.end();
    }
  }

  @Override
  public boolean isWatched() {
    return !closed && !transfers.isEmpty();
  }

  @Override
  public void stuck(IllegalStateException why) {
    abandonLate(System.nanoTime(), why);
  }

  @Override
  public void neglected(long nanos) {
    abandonLate(
        System.nanoTime() - nanos, new IllegalStateException("no thread takes steps for it"));
  }

  private void abandonLate(long nanoTime, IllegalStateException why) {
    transfers.forEach(
        transfer -> {
          if (transfer.isLate(nanoTime) && !transfer.isDone()) {
            // Who hears of it is not to hold up the others.
            BoundedCall.run(
                () -> transfer.abandon(failure(Reason.DEADLINE_PASSED, -1, transfer, why)));
          }
        });
  }

  private void settled(RailPiece piece) {
    RailTransfer transfer = piece.transfer();
    transfer.settled(piece);
    if (transfer.isDone()) {
      transfers.countOver();
    }
  }

  private static void giveBack(RailPiece piece) {
    piece.transfer().returned(piece);
  }

  private boolean step(RailLink link, long now) {
    boolean polled = link.poll(arrived);
    boolean settled = link.settle(now);
    return polled || settled;
  }

  /** Gives pieces to rails until pieces or room are used up. */
  private boolean deal(List<RailLink> present) {
    boolean dealt = false;
    while (true) {
      RailTransfer transfer = transfers.next();
      RailLink link =
          transfer == null
              ? null
              : choice.laneFor(present, transfer.nextPieceBytes(), transfer.piecesLeft());
      if (link == null) {
        break;
      }
      if (transfer.order().target().region() >= link.regions()) {
        transfer.fail(failure(Reason.LOCAL_FAULT, link.rail(), transfer, noSuchRegion(link)));
        continue;
      }
      link.take(transfer.nextPiece());
      transfers.passOn();
      dealt = true;
    }
    if (dealt) {
      for (int i = 0; i < present.size(); i++) {
        watch.at(i);
        present.get(i).flush();
      }
    }
    return dealt;
  }

  private static Throwable noSuchRegion(RailLink link) {
    return new IndexOutOfBoundsException("the peer offers " + link.regions() + " regions");
  }

  /** Takes out transfers that are over, late, or without any hope. */
  private void sweep(long now) {
    if (!transfers.isLookDue(now)) {
      return;
    }
    boolean alive = recovering || !links.stream().allMatch(RailLink::isDown);
    // Whoever hears of an end may close the rails.
    for (int i = transfers.size() - 1; i >= 0 && !closed; i--) {
      RailTransfer transfer = transfers.get(i);
      if (!transfer.isDone() && transfer.isLate(now)) {
        end(transfer, failure(Reason.DEADLINE_PASSED, slowRail(transfer), transfer, lastFault()));
      } else if (!transfer.isDone() && !alive) {
        end(transfer, failure(Reason.RAILS_LOST, -1, transfer, lastFault()));
      }
      boolean isOver = transfer.isDone();
      // Looked at after that: one that is failed from outside just now stays for the next step.
      if (transfer.isAbandoned()) {
        failRailsOf(transfer, new IllegalStateException("given up when it was late"));
      }
      if (isOver && !closed) {
        transfer.unpinIfOver();
        transfers.remove(i);
      } else {
        // Pieces may have come back.
        transfers.giveTurn(transfer);
      }
    }
  }

  /**
   * Ends a transfer before its time. There is no way to call a single request back, so the rails
   * that have pieces of it are taken down.
   */
  private void end(RailTransfer transfer, RailException why) {
    if (transfer.isDone()) {
      return;
    }
    transfer.fail(why);
    failRailsOf(transfer, new IllegalStateException("given up after: " + why.getMessage()));
  }

  private void failRailsOf(RailTransfer transfer, IllegalStateException why) {
    for (RailLink link : links) {
      if (link.carries(transfer)) {
        link.fail(why);
      }
    }
  }

  private int slowRail(RailTransfer transfer) {
    return links.stream()
        .filter(link -> link.carries(transfer))
        .mapToInt(RailLink::rail)
        .findFirst()
        .orElse(-1);
  }

  private Throwable lastFault() {
    return links.stream()
        .map(link -> link.fault().reason())
        .filter(reason -> reason != null)
        .findFirst()
        .orElse(null);
  }

  @Override
  public void refused(RailLink link, RailPiece piece, VerbsWorkException cause) {
    RailTransfer transfer = piece.transfer();
    boolean isHopeless = !transfer.isDone() && isHopeless(link, piece, cause);
    if (isHopeless || transfer.isDone() || transfer.order().direction().equals(Direction.READ)) {
      giveBack(piece);
    } else {
      resting.add(piece, link);
    }
    if (isHopeless) {
      Reason why = Refusal.isPeers(cause) ? Reason.PEER_REFUSED : Reason.LOCAL_FAULT;
      transfer.fail(failure(why, link.rail(), piece, cause));
    }
  }

  /** Whether another try would come to the same, or there is nothing left to try it on. */
  private boolean isHopeless(RailLink link, RailPiece piece, VerbsWorkException cause) {
    boolean isLast =
        Refusal.isPeers(cause) && !recovering && links.stream().noneMatch(RailLink::isActive);
    return Refusal.isCertain(cause)
        || isLast
        || (Refusal.isOfThePiece(link, cause) && piece.failedAgain() >= MOST_FAILURES);
  }

  /** Its memory stays registered, rather than be written to when it is somebody else's. */
  @Override
  public void stuck(RailLink link, RailPiece piece) {
    if (!piece.transfer().isDone()) {
      piece.transfer().fail(failure(Reason.LOCAL_FAULT, link.rail(), piece, link.fault().reason()));
    }
  }

  @Override
  public void letGo(RailPiece piece) {
    BoundedCall.run(
        () -> {
          lock.lock();
          try {
            giveBack(piece);
          } finally {
            unlock();
          }
        });
  }

  @Override
  public void failed(RailLink link) {
    onFailed.accept(link);
  }

  private RailException failure(Reason why, int rail, RailTransfer transfer, Throwable cause) {
    String range = transfer.order().range(0, transfer.lengthBytes());
    return new RailException(why, rail, peer, range + ", " + transfer.doneBytes() + " done", cause);
  }

  private RailException failure(Reason why, int rail, RailPiece piece, Throwable cause) {
    return new RailException(why, rail, peer, piece.range(), cause);
  }

  /** Takes steps until a transfer is over. */
  void drive(RailTransfer transfer) throws InterruptedException {
    int idle = 0;
    while (!transfer.isDone()) {
      if (Thread.interrupted()) {
        cancel(transfer);
        throw new InterruptedException();
      }
      idle = tryStep() ? 0 : idle + 1;
      relax(idle);
    }
  }

  /** The longer nothing moves, the more of the processor is left to others. */
  static void relax(int idle) {
    if (idle < 64) {
      Thread.onSpinWait();
    } else if (idle < 256) {
      LockSupport.parkNanos(1_000);
    } else {
      LockSupport.parkNanos(Math.min(1_000_000, 20_000L * (1 + (idle - 256) / 64)));
    }
  }

  private void unlock() {
    lock.unlock();
    if (closed) {
      payOwed();
    }
  }

  private void payOwed() {
    Runnable some = owed.getAndSet(null);
    if (some != null) {
      BoundedCall.run(some);
    }
  }

  /**
   * Ends everything; nothing of this touches memory any more, unless a device is stuck.
   *
   * @param again closes this once more, as soon as the step is over that could not be waited for
   * @return false if that is so; else everything has been told to end, see {@link #ended()}
   */
  boolean close(Deadline deadline, Runnable again) {
    if (!StepWatch.tryLock(lock, deadline)) {
      owed.set(again);
      closed = true;
      transfers.forEach(one -> one.abandon(failure(Reason.CLOSED, -1, one, null)));
      if (lock.tryLock()) {
        // Just now: whoever had it may not have seen that something is owed.
        unlock();
      }
      return false;
    }
    try {
      closed = true;
      // Also those that were told of their end meanwhile: it lets go of memory that no rail has.
      transfers.forEach(one -> one.fail(failure(Reason.CLOSED, -1, one, null)));
      closeAll(links, deadline);
      resting.giveBackAll();
      transfers.clear();
      return true;
    } finally {
      unlock();
    }
  }

  /** Completes when all rails that there have been are closed. */
  CompletableFuture<?> ended() {
    return CompletableFuture.allOf(
        Stream.concat(links.stream(), replaced.stream())
            .map(RailLink::ended)
            .toArray(CompletableFuture<?>[]::new));
  }

  private static void closeAll(List<RailLink> all, Deadline deadline) {
    all.forEach(RailLink::beginClose);
    all.forEach(link -> link.awaitClose(deadline));
  }
}
