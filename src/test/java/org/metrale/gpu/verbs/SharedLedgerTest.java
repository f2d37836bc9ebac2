package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.SoftwareHost;

/** Completions that a device should not give, of shared requests. */
@Tag("emulator")
@Timeout(60)
final class SharedLedgerTest {
  private static final long NEXT_USE = 1L << 48;

  private final SharedLedger ledger = SharedLedger.open(4);
  private final VerbsCompletions done = VerbsCompletions.allocate(8);
  private final VerbsReceiveBatch batch = VerbsReceiveBatch.allocate(4);
  private VerbsSharedHost host;
  private LedgerTable table;

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  @BeforeEach
  void open() {
    host = new VerbsSharedHost(16);
    table = new LedgerTable(host.completions, 64);
    table.add(new WorkLedgers(1, 0, ledger));
  }

  @AfterEach
  void close() throws Exception {
    host.close();
  }

  /** Past the queue's own ledger, whose completions nobody takes here. */
  private void post(long... workIds) {
    for (long workId : workIds) {
      batch.receive(workId, host.far, 0, 8);
    }
    assertEquals(workIds.length, ledger.post(host.shared.with(VerbsWorkCalls::address), batch));
  }

  private long id(int slot, int use) {
    return use * NEXT_USE | (long) slot << 32 | (long) ledger.number() << 16 | SharedLedger.PLACE;
  }

  /** Completions of this ledger as a device writes them. */
  private int come(long... ids) {
    for (int i = 0; i < ids.length; i++) {
      done.rawId(i, ids[i]);
    }
    done.filled(ids.length);
    return table.distribute(done, ids.length);
  }

  private void refused(long... ids) {
    IllegalStateException e = assertThrows(IllegalStateException.class, () -> come(ids));
    assertTrue(e.getMessage().contains("is not in flight"), e::getMessage);
  }

  @Test
  void completionsComeInAnyOrderAndOnce() {
    refused(id(0, 0));
    post(70, 71, 72);
    assertEquals(2, come(id(2, 0), id(0, 0)));
    assertEquals(72, done.workId(0));
    assertEquals(70, done.workId(1));
    assertEquals(1, ledger.inFlight());
    refused(id(2, 0));
    refused(id(4, 0));
    post(73);
    refused(id(0, 0));
    assertEquals(2, come(id(0, 1), id(1, 0)));
    assertEquals(73, done.workId(0));
    assertEquals(71, done.workId(1));
    assertEquals(0, ledger.inFlight());
    refused(id(1, 1));
  }

  @Test
  void memoryIsHeldUntilTheLastRequestOfItIsDone() throws Exception {
    VerbsMemoryRegion memory =
        host.keep(VerbsMemoryRegion.allocate(host.domain, 64, VerbsAccess.LOCAL_WRITE));
    batch.receive(70, memory, 0, 8);
    batch.receive(71, memory, 8, 8);
    batch.receive(72, host.far, 0, 8);
    batch.receive(73, memory, 0, 8);
    assertEquals(4, ledger.post(host.shared.with(VerbsWorkCalls::address), batch));
    assertEquals(2, come(id(3, 0), id(0, 0)));
    assertThrows(IllegalStateException.class, memory::close);
    assertEquals(1, come(id(1, 0)));
    memory.close();
    assertThrows(IllegalStateException.class, host.far::close);
    assertEquals(1, come(id(2, 0)));
    assertEquals(0, ledger.inFlight());
  }

  @Test
  void whatIsOfQueuesThatAreGoneIsDropped() {
    post(70, 71);
    long another = id(0, 0) ^ 0x7000_0000L;
    assertEquals(1, come(another, another, id(1, 0), another));
    assertEquals(71, done.workId(0));
    assertEquals(1, ledger.inFlight());
    table.remove(ledger);
    assertEquals(0, come(id(0, 0)));
    assertEquals(1, ledger.inFlight());
    ledger.abandon();
    assertEquals(0, ledger.inFlight());
  }

  /** A device may give the number of a queue pair that is gone to the next one at once. */
  @Test
  void aFailureIsOfTheQueuePairThatHadTheNumberThen() {
    WorkLedgers next = new WorkLedgers(1, 0, ledger);
    next.pairNumber(7);
    VerbsCompletions kept = VerbsCompletions.allocate(1);
    post(70, 71);
    fail(kept, id(0, 0), 7);
    kept.takenAfter(table.turns());
    table.add(next);
    done.copyOf(kept, 0, 1);
    assertEquals(1, table.distribute(done, 1));
    assertEquals(VerbsWorkStatus.LOCAL_LENGTH, done.failure(0).status());
    assertNull(next.firstError());
    fail(done, id(1, 0), 7);
    assertEquals(1, table.distribute(done, 1));
    assertEquals(VerbsWorkStatus.LOCAL_LENGTH, next.firstError().status());
  }

  /** One completion as a device writes it. */
  private static void fail(VerbsCompletions into, long id, int pair) {
    ByteBuffer bytes = ByteBuffer.allocate(48).order(ByteOrder.nativeOrder());
    bytes.putLong(0, id).putInt(8, VerbsWorkStatus.LOCAL_LENGTH.code()).putInt(28, pair);
    RegionMemory.at(into.address(), bytes.capacity()).write(0, bytes);
    into.filled(1);
  }

  @Test
  void nothingIsPostedOrTakenAfterTheEnd() {
    post(70);
    assertTrue(ledger.end());
    batch.receive(71);
    assertEquals(WorkLedger.ENDED, ledger.post(host.shared.with(VerbsWorkCalls::address), batch));
    assertEquals(1, batch.size());
    assertEquals(0, come(id(0, 0)));
    assertEquals(1, ledger.inFlight());
    assertThrows(IllegalStateException.class, host.far::close);
    ledger.abandon();
    assertEquals(0, ledger.inFlight());
  }
}
