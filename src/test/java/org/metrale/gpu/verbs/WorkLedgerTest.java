package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.SoftwareHost;

/** Completions that a device should not give. */
@Tag("emulator")
@Timeout(60)
final class WorkLedgerTest {
  private final WorkLedger ledger = new WorkLedger(4, new AtomicReference<>());
  private final VerbsCompletions done = VerbsCompletions.allocate(8);

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  /** Completions of this ledger as a device writes them. */
  private void come(long... numbers) {
    for (int i = 0; i < numbers.length; i++) {
      done.rawId(i, numbers[i] * WorkLedger.STEP);
    }
    done.filled(numbers.length);
  }

  private IllegalStateException refused(int from, int to) {
    return assertThrows(IllegalStateException.class, () -> ledger.retire(done, from, to));
  }

  @Test
  void whatWasNeverPostedIsRefused() {
    come(0);
    assertTrue(refused(0, 1).getMessage().contains("nothing is in flight"));
    assertEquals(0, ledger.inFlight());
  }

  @Test
  void aSecondCompletionAndOneOutOfTurnAreRefused() throws Exception {
    try (VerbsEnd end = connectedToItself()) {
      VerbsMemoryRegion memory = end.memory(64, VerbsAccess.READ_WRITE);
      VerbsWorkBatch batch = VerbsWorkBatch.allocate(4);
      for (int i = 0; i < 4; i++) {
        batch.read(70 + i, memory, 8 * i, 8, memory.address(), memory.rkey());
      }
      // Past the queue pair's own ledger, whose completions nobody takes here.
      assertEquals(4, ledger.post(VerbsWorkCalls.address(end.prepared.handle()), batch));
      come(0, 0);
      assertTrue(refused(0, 2).getMessage().contains("completed request 0"));
      come(1);
      assertTrue(refused(0, 1).getMessage().contains("request 0 is the next of 4"));
      come(0, 1, 2, 3);
      ledger.retire(done, 0, 4);
      assertEquals(72, done.workId(2));
      assertEquals(0, ledger.inFlight());
      come(3);
      assertTrue(refused(0, 1).getMessage().contains("nothing is in flight"));
    }
  }

  @Test
  void whatThePollFoundInOrderIsStillNotTakenForAnythingElse() throws Exception {
    try (VerbsEnd end = connectedToItself()) {
      VerbsMemoryRegion memory = end.memory(64, VerbsAccess.READ_WRITE);
      VerbsWorkBatch batch = VerbsWorkBatch.allocate(4);
      for (int i = 0; i < 3; i++) {
        batch.read(70 + i, memory, 8 * i, 8, memory.address(), memory.rkey());
      }
      assertEquals(3, ledger.post(VerbsWorkCalls.address(end.prepared.handle()), batch));
      come(1, 2);
      done.filled(2, 2);
      assertTrue(refused(0, 2).getMessage().contains("request 0 is the next of 3"));
      come(0, 1, 2, 3);
      done.filled(4, 4);
      assertTrue(refused(0, 4).getMessage().contains("nothing is in flight"));
      come(0, 1, 2, 2);
      done.filled(4, 3);
      assertTrue(refused(0, 4).getMessage().contains("nothing is in flight"));
      come(0, 1, 2);
      done.filled(3, 2);
      assertEquals(3, ledger.retire(done, 0, 3));
      assertEquals(0, ledger.inFlight());
      assertEquals(72, done.workId(2));
    }
  }

  /** Posts requests 70 and 71. */
  private void postTwo(VerbsEnd end) {
    VerbsMemoryRegion memory = end.memory(64, VerbsAccess.READ_WRITE);
    VerbsWorkBatch batch = VerbsWorkBatch.allocate(2);
    batch.read(70, memory, 0, 8, memory.address(), memory.rkey());
    batch.read(71, memory, 8, 8, memory.address(), memory.rkey());
    assertEquals(2, ledger.post(VerbsWorkCalls.address(end.prepared.handle()), batch));
  }

  @Test
  void whatIsDroppedIsNoLongerKnown() throws Exception {
    try (VerbsEnd end = connectedToItself()) {
      postTwo(end);
      come(5, 6, 0, 0);
      done.filled(4, 2);
      assertEquals(2, done.drop(0, 2));
      assertTrue(refused(0, 2).getMessage().contains("completed request 0"));
      come(0, 1);
      assertEquals(2, ledger.retire(done, 0, 2));
      assertEquals(71, done.workId(1));
    }
  }

  @Test
  void whatIsAnotherQueuesIsLeftToIt() throws Exception {
    try (VerbsEnd end = connectedToItself()) {
      postTwo(end);
      come(0, 0, 1, 1);
      done.rawId(1, 1);
      done.rawId(2, WorkLedger.STEP + 1);
      assertEquals(1, ledger.retire(done, 0, 4));
      assertEquals(1, ledger.inFlight());
      assertEquals(4, ledger.retire(done, 3, 4));
      assertEquals(0, ledger.inFlight());
      assertEquals(71, done.workId(3));
    }
  }

  @Test
  void aRegionWhoseRequestsWereRefusedIsNotHeld() throws Exception {
    try (VerbsEnd end = connectedToItself()) {
      VerbsMemoryRegion memory = end.memory(64, VerbsAccess.READ_WRITE);
      VerbsMemoryRegion other = end.memory(64, VerbsAccess.READ_WRITE);
      VerbsWorkBatch batch = VerbsWorkBatch.allocate(2);
      for (VerbsMemoryRegion region : new VerbsMemoryRegion[] {other, memory, other}) {
        assertThrows(
            IndexOutOfBoundsException.class,
            () -> batch.read(70, region, 60, 8, memory.address(), memory.rkey()));
      }
      batch.read(70, memory, 0, 8, memory.address(), memory.rkey());
      assertThrows(
          IndexOutOfBoundsException.class,
          () -> batch.read(71, other, 60, 8, memory.address(), memory.rkey()));
      batch.read(71, memory, 8, 8, memory.address(), memory.rkey());
      assertThrows(
          IllegalStateException.class,
          () -> batch.read(72, other, 0, 8, memory.address(), memory.rkey()));
      assertEquals(2, ledger.post(VerbsWorkCalls.address(end.prepared.handle()), batch));
      other.close();
      assertThrows(IllegalStateException.class, memory::close);
      come(0, 1);
      assertEquals(2, ledger.retire(done, 0, 2));
    }
  }

  @Test
  void nothingIsPostedOrTakenAfterTheEnd() throws Exception {
    try (VerbsEnd end = connectedToItself()) {
      VerbsMemoryRegion memory = end.memory(64, VerbsAccess.READ_WRITE);
      VerbsWorkBatch batch = VerbsWorkBatch.allocate(1);
      batch.read(70, memory, 0, 8, memory.address(), memory.rkey());
      long pair = VerbsWorkCalls.address(end.prepared.handle());
      assertEquals(1, ledger.post(pair, batch));
      assertTrue(ledger.end());
      batch.read(71, memory, 0, 8, memory.address(), memory.rkey());
      assertEquals(WorkLedger.ENDED, ledger.post(pair, batch));
      assertEquals(1, batch.size());
      come(0);
      assertEquals(0, ledger.retire(done, 0, 1));
      assertEquals(1, ledger.inFlight());
      ledger.abandon();
      assertEquals(0, ledger.inFlight());
    }
  }

  private static VerbsEnd connectedToItself() {
    VerbsEnd end = new VerbsEnd(RdmaDevices.clients().get(0), VerbsQueueSettings.DEFAULT);
    end.connect(end.remote());
    return end;
  }
}
