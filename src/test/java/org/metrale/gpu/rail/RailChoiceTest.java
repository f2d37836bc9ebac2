package org.metrale.gpu.rail;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class RailChoiceTest {
  private static final long PIECE = 1 << 20;

  /** A rail that does what a test says. */
  private static final class Lane implements RailChoice.Lane {
    private final RailRate rate = new RailRate();
    private boolean active = true;
    private int inFlight;
    private long last;
    private long taken;

    /** One that has once taken this long for a piece. */
    Lane(long nanos) {
      rate.began(PIECE, 0);
      rate.ended(PIECE, nanos);
    }

    @Override
    public boolean isActive() {
      return active;
    }

    @Override
    public boolean isIdle() {
      return inFlight == 0;
    }

    @Override
    public boolean hasRoom() {
      return inFlight < depth();
    }

    @Override
    public int depth() {
      return 4;
    }

    @Override
    public RailRate rate() {
      return rate;
    }

    @Override
    public long lastTurn() {
      return last;
    }

    @Override
    public void takeTurn(long turn) {
      last = turn;
      taken++;
    }
  }

  /** A rail whose death nobody would notice otherwise, however the transfers are cut. */
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 32})
  void aSlowRailIsTriedNowAndThen(int piecesOfATransfer) {
    Lane fast = new Lane(1_000);
    Lane slow = new Lane(1_000_000);
    RailChoice choice = new RailChoice();
    for (int transfer = 0; transfer < 1000; transfer++) {
      for (int piece = 0; piece < piecesOfATransfer; piece++) {
        assertTrue(choice.laneFor(List.of(fast, slow), PIECE, 1) != null);
      }
    }
    long all = 1000L * piecesOfATransfer;
    assertTrue(slow.taken >= all / (2 * RailChoice.TRIAL), () -> slow.taken + " of " + all);
    assertTrue(fast.taken > slow.taken);
  }

  @Test
  void anIdleRailTakesAPieceOfATransferWithMany() {
    Lane fast = new Lane(1_000);
    fast.inFlight = 1;
    Lane slow = new Lane(1_000_000);
    RailChoice choice = new RailChoice();
    assertEquals(slow, choice.laneFor(List.of(fast, slow), PIECE, 5));
    assertEquals(slow, choice.laneFor(List.of(fast, slow), PIECE, 5));
    slow.inFlight = 1;
    assertEquals(fast, choice.laneFor(List.of(fast, slow), PIECE, 5));
  }

  @Test
  void aPieceWaitsForTheRailThatWouldBeDoneFirst() {
    Lane fast = new Lane(1_000);
    fast.inFlight = fast.depth();
    Lane slow = new Lane(1_000_000);
    slow.inFlight = 1;
    RailChoice choice = new RailChoice();
    assertNull(choice.laneFor(List.of(fast, slow), PIECE, 1));
    fast.active = false;
    assertEquals(slow, choice.laneFor(List.of(fast, slow), PIECE, 1));
    slow.active = false;
    assertNull(choice.laneFor(List.of(fast, slow), PIECE, 1));
  }
}
