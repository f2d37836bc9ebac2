package org.metrale.gpu.rail;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.metrale.gpu.rail.RailException.Reason;
import org.metrale.gpu.rail.RailTransfer.Direction;
import org.metrale.gpu.verbs.VerbsException;
import org.metrale.gpu.verbs.VerbsWorkException;
import org.metrale.gpu.verbs.VerbsWorkStatus;

/**
 * Deals pieces of transfers to rails and takes them back, one short step at a time.
 *
 * <p>Whoever waits takes steps: a blocking caller itself, else the driver's thread. No step waits
 * for anything, so that no rail can hold up another.
 */
final class TransferEngine implements RailLink.Owner {
  /** A piece that fails on this many rails in a row is itself what is wrong. */
  private static final int MOST_FAILURES = 4;

  /** How long devices may take to give up their queue pairs at the end. */
  private static final Duration CLOSE_LIMIT = Duration.ofSeconds(5);

  private final ReentrantLock lock = new ReentrantLock();
  private final String peer;

  /** Called with the lock held when a rail has failed. */
  private final Consumer<RailLink> onFailed;

  private final List<RailTransfer> transfers = new ArrayList<>();

  /** One a rail, the first rail first. */
  private final List<RailLink> links = new ArrayList<>();

  /** Written pieces that failed, the first to be due first. */
  private final RestingPieces resting = new RestingPieces();

  /** Whether lost rails can come back. */
  private final boolean recovering;

  private boolean closed;
  private int nextTransfer;
  private final RailChoice choice = new RailChoice();

  TransferEngine(String peer, boolean recovering, Consumer<RailLink> onFailed) {
    this.peer = peer;
    this.recovering = recovering;
    this.onFailed = onFailed;
  }

  /** Begins with these rails. */
  void begin(List<RailLink> first) {
    lock.lock();
    try {
      links.addAll(first);
    } finally {
      lock.unlock();
    }
  }

  /** Puts rails in place of those that are down; false if it was too late, and they are closed. */
  boolean replace(List<RailLink> fresh) {
    lock.lock();
    try {
      if (closed) {
        closeAll(fresh);
        return false;
      }
      fresh.forEach(link -> links.set(link.rail(), link));
      return true;
    } finally {
      lock.unlock();
    }
  }

  List<RailLink> links() {
    lock.lock();
    try {
      return List.copyOf(links);
    } finally {
      lock.unlock();
    }
  }

  void submit(RailTransfer transfer) {
    lock.lock();
    try {
      if (closed) {
        transfer.fail(failure(Reason.CLOSED, -1, transfer, null));
        return;
      }
      transfers.add(transfer);
    } finally {
      lock.unlock();
    }
  }

  /** Ends a transfer that the caller has given up. */
  void cancel(RailTransfer transfer) {
    lock.lock();
    try {
      end(transfer, failure(Reason.CANCELLED, -1, transfer, null));
    } finally {
      lock.unlock();
    }
  }

  /** Does something with one of the present rails. */
  void with(int rail, Consumer<RailLink> action) {
    lock.lock();
    try {
      action.accept(links.get(rail));
    } finally {
      lock.unlock();
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
      lock.unlock();
    }
  }

  /** Whether there is something that steps would move. */
  boolean isBusy() {
    lock.lock();
    try {
      return !transfers.isEmpty() || !resting.isEmpty() || anyFailing();
    } finally {
      lock.unlock();
    }
  }

  private boolean anyFailing() {
    for (RailLink link : links) {
      if (link.state().equals(RailStatus.State.FAILING)) {
        return true;
      }
    }
    return false;
  }

  private boolean step() {
    boolean moved = false;
    long now = System.nanoTime();
    for (int i = 0; i < links.size(); i++) {
      moved |= step(links.get(i), now);
    }
    resting.wake(now);
    moved |= deal();
    sweep(now);
    return moved;
  }

  private static void giveBack(RailPiece piece) {
    piece.transfer().returned(piece);
  }

  private boolean step(RailLink link, long now) {
    boolean polled = link.poll(piece -> piece.transfer().settled(piece));
    boolean settled = link.settle(now);
    return polled || settled;
  }

  /** Gives pieces to rails until pieces or room are used up. */
  private boolean deal() {
    boolean dealt = false;
    while (true) {
      RailTransfer transfer = nextTransfer();
      RailLink link =
          transfer == null
              ? null
              : choice.laneFor(links, transfer.nextPieceBytes(), transfer.piecesLeft());
      if (link == null) {
        break;
      }
      if (transfer.order().target().region() >= link.regions()) {
        transfer.fail(failure(Reason.LOCAL_FAULT, link.rail(), transfer, noSuchRegion(link)));
        continue;
      }
      nextTransfer++;
      link.take(transfer.nextPiece());
      dealt = true;
    }
    if (dealt) {
      for (int i = 0; i < links.size(); i++) {
        links.get(i).flush();
      }
    }
    return dealt;
  }

  /** The transfer whose turn it is among those that have a piece to give; null if none has. */
  private RailTransfer nextTransfer() {
    for (int i = 0; i < transfers.size(); i++) {
      RailTransfer transfer = transfers.get(Math.floorMod(nextTransfer + i, transfers.size()));
      if (transfer.hasPiece()) {
        return transfer;
      }
    }
    return null;
  }

  private static Throwable noSuchRegion(RailLink link) {
    return new IndexOutOfBoundsException("the peer offers " + link.regions() + " regions");
  }

  /** Takes out transfers that are over, late, or without any hope. */
  private void sweep(long now) {
    boolean alive = recovering || !links.stream().allMatch(RailLink::isDown);
    // Whoever hears of an end may close the rails.
    for (int i = transfers.size() - 1; i >= 0 && !closed; i--) {
      RailTransfer transfer = transfers.get(i);
      if (!transfer.isDone() && transfer.isLate(now)) {
        end(transfer, failure(Reason.DEADLINE_PASSED, slowRail(transfer), transfer, lastFault()));
      } else if (!transfer.isDone() && !alive) {
        end(transfer, failure(Reason.RAILS_LOST, -1, transfer, lastFault()));
      }
      if (transfer.isDone() && !closed) {
        transfers.remove(i);
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
    for (RailLink link : links) {
      if (link.carries(transfer)) {
        link.fail(new IllegalStateException("given up after: " + why.getMessage()));
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
      Reason why = isPeers(cause) ? Reason.PEER_REFUSED : Reason.LOCAL_FAULT;
      transfer.fail(failure(why, link.rail(), piece, cause));
    }
  }

  private static boolean isPeers(VerbsWorkException cause) {
    return cause != null && cause.status().side().equals(VerbsWorkStatus.Side.PEER);
  }

  /** Whether another try would come to the same, or there is nothing left to try it on. */
  private boolean isHopeless(RailLink link, RailPiece piece, VerbsWorkException cause) {
    // Other refusals may be about the connection: Soft-RoCE answers a late packet with 9.
    boolean isCertain =
        isRequestFault(cause)
            || (cause != null && cause.status().equals(VerbsWorkStatus.REMOTE_ACCESS));
    boolean isLast = isPeers(cause) && !recovering && links.stream().noneMatch(RailLink::isActive);
    return isCertain
        || isLast
        || (isOfThePiece(link, cause) && piece.failedAgain() >= MOST_FAILURES);
  }

  /** Whether it may be this piece that is wrong, and not just the rail that it was on. */
  private static boolean isOfThePiece(RailLink link, VerbsWorkException cause) {
    if (cause == null) {
      return link.fault().reason() instanceof VerbsException;
    }
    return !cause.status().equals(VerbsWorkStatus.FLUSHED)
        && !cause.status().side().equals(VerbsWorkStatus.Side.PATH);
  }

  /** Whether the request itself is wrong, so that no other rail could do it. */
  private static boolean isRequestFault(VerbsWorkException cause) {
    return cause != null
        && (cause.status().equals(VerbsWorkStatus.LOCAL_PROTECTION) || cause.code() == 1);
  }

  /** Its memory stays registered for ever, rather than be written to when it is somebody else's. */
  @Override
  public void stuck(RailLink link, RailPiece piece) {
    if (!piece.transfer().isDone()) {
      piece.transfer().fail(failure(Reason.LOCAL_FAULT, link.rail(), piece, link.fault().reason()));
    }
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

  /** Ends everything; nothing of this touches memory any more, unless a device is stuck. */
  boolean close() {
    lock.lock();
    try {
      closed = true;
      for (RailTransfer transfer : transfers) {
        if (!transfer.isDone()) {
          transfer.fail(failure(Reason.CLOSED, -1, transfer, null));
        }
      }
      boolean isOver = closeAll(links);
      resting.giveBackAll();
      transfers.clear();
      return isOver;
    } finally {
      lock.unlock();
    }
  }

  private static boolean closeAll(List<RailLink> all) {
    all.forEach(RailLink::beginClose);
    Deadline deadline = Deadline.after(CLOSE_LIMIT);
    boolean isOver = true;
    for (RailLink link : all) {
      isOver &= link.awaitClose(deadline);
    }
    return isOver;
  }
}
