package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.bytedeco.cuda.cudart.CUctx_st;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.global.cuda;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.cuda.CudaAttachment;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;

/** A thread that has a communicator to itself, and others that come between. */
@Tag("emulator")
class NcclOwnerTest {
  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  @Test
  void operationsThatRaceACloseAreRefusedAndNothingElse() throws Exception {
    for (int round = 0; round < 30; round++) {
      try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
        Ranks.Rank rank = ranks.get(0);
        List<Thread> users = new ArrayList<>();
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        for (int i = 0; i < 2; i++) {
          Thread user =
              new Thread(
                  () -> {
                    try {
                      while (true) {
                        rank.reduce();
                      }
                    } catch (IllegalStateException e) {
                      if (!e.getMessage().contains("is closed")) {
                        wrong.set(e);
                      }
                    } catch (RuntimeException e) {
                      wrong.set(e);
                    }
                  });
          user.start();
          users.add(user);
        }
        while (rank.communicator().flightRecord().lastIssued() < 200) {
          Thread.onSpinWait();
        }
        rank.communicator().close();
        for (Thread user : users) {
          user.join();
        }
        if (wrong.get() != null) {
          throw new AssertionError(wrong.get());
        }
      }
    }
  }

  @Test
  void ownersAndOthersTakeTurns() throws Exception {
    int threads = 4;
    int each = 2000;
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      List<Thread> users = new ArrayList<>();
      AtomicReference<Throwable> wrong = new AtomicReference<>();
      for (int i = 0; i < threads; i++) {
        // Runs of one thread make it the owner; the others take that away again.
        Thread user =
            new Thread(
                () -> {
                  try {
                    for (int done = 0; done < each; done++) {
                      long sequence = rank.reduce();
                      if (done % 100 == 0) {
                        assertTrue(rank.communicator().operation(sequence).await(Ranks.LIMIT));
                      }
                    }
                  } catch (InterruptedException | RuntimeException | AssertionError e) {
                    wrong.set(e);
                  }
                });
        user.start();
        users.add(user);
      }
      int closed = 0;
      while (users.stream().anyMatch(Thread::isAlive)) {
        // Closing memory takes the communicator away from its owner too.
        DeviceMemory.allocate(rank.context(), 64).close();
        closed++;
      }
      assertEquals(null, wrong.get());
      assertTrue(closed > 0);
      NcclCommunicator one = rank.communicator();
      assertTrue(one.operation((long) threads * each - 1).await(Ranks.LIMIT));
      assertEquals((long) threads * each - 1, one.flightRecord().lastIssued());
      List<NcclFlightRecord.Entry> kept = one.flightRecord().entries();
      for (int i = 1; i < kept.size(); i++) {
        assertEquals(kept.get(i - 1).sequence() + 1, kept.get(i).sequence());
        assertEquals(NcclOperationKind.ALL_REDUCE, kept.get(i).kind());
      }
    }
  }

  /** An owner's memory, closed by another thread: one of the two always loses. */
  @Test
  void anOwnersMemoryCannotBeClosedUnderIt() throws Exception {
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      for (int round = 0; round < 200; round++) {
        for (int i = 0; i < 70; i++) {
          rank.reduce();
        }
        DeviceMemory memory = DeviceMemory.allocate(rank.context(), 64);
        Thread closer =
            new Thread(
                () -> {
                  boolean closed = false;
                  while (!closed) {
                    try {
                      memory.close();
                      closed = true;
                    } catch (IllegalStateException e) {
                      // By its number, or where the machine has no time for its thread, as begun.
                      assertTrue(e.getMessage().contains(" in use by "), e.getMessage());
                    }
                  }
                });
        closer.start();
        IllegalStateException refused =
            assertThrows(
                IllegalStateException.class,
                () -> {
                  while (true) {
                    rank.communicator()
                        .allReduce(
                            memory.buffer(),
                            memory.buffer(),
                            4,
                            NcclDataType.INT32,
                            NcclRedOp.SUM,
                            rank.stream());
                  }
                });
        assertTrue(refused.getMessage().contains("is closed"), refused.getMessage());
        closer.join();
      }
      assertTrue(rank.communicator().failure().isEmpty());
    }
  }

  @Test
  void streamsThatCloseUnderAnOwnerAreNamed() throws Exception {
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      for (int i = 0; i < 100; i++) {
        rank.reduce();
      }
      CudaStream closed = CudaStream.create(rank.context());
      closed.close();
      String said =
          assertThrows(
                  IllegalStateException.class,
                  () ->
                      rank.communicator()
                          .broadcast(
                              rank.send().buffer(),
                              rank.recv().buffer(),
                              1,
                              NcclDataType.INT8,
                              0,
                              closed))
              .getMessage();
      assertTrue(said.contains("stream") && said.contains("is closed"), said);
      long next = rank.reduce();
      assertTrue(rank.communicator().operation(next).await(Ranks.LIMIT));
      assertEquals(100, next);
    }
  }

  @Test
  void noContextStaysCurrentBehindAnOwnersCall() throws Exception {
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      for (int i = 0; i < 100; i++) {
        long last = rank.reduce();
        assertEquals(0, cuda.metrale_cuCtxGetCurrent());
        assertTrue(rank.communicator().operation(last).await(Ranks.LIMIT));
      }
    }
  }

  /** Whatever is current, and whatever the thread said that would be. */
  @Test
  void anOwnerNeedNotSayTheTruthAboutItsContext() throws Exception {
    try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
      Ranks.Rank rank = ranks.get(0);
      Runnable some =
          () -> {
            for (int i = 0; i < 200; i++) {
              rank.reduce();
            }
            assertEnds(rank, rank.reduce());
          };
      some.run();
      CudaAttachment attachment = rank.context().attach();
      some.run();
      assertEquals(rank.context().address(), cuda.metrale_cuCtxGetCurrent());
      try (CudaContext other = CudaContext.openPrimary(1)) {
        CudaAttachment inner = other.attach();
        some.run();
        assertEquals(other.address(), cuda.metrale_cuCtxGetCurrent());
        inner.close();
        some.run();
        assertEquals(0, cuda.cuCtxPushCurrent(other.pointer()));
        some.run();
        assertEquals(other.address(), cuda.metrale_cuCtxGetCurrent());
        assertEquals(0, cuda.cuCtxPopCurrent(new CUctx_st()));
      }
      assertEquals(0, cuda.cuCtxPopCurrent(new CUctx_st()));
      some.run();
      assertEquals(0, cuda.metrale_cuCtxGetCurrent());
      assertEquals(0, cuda.cuCtxPushCurrent(rank.context().pointer()));
      attachment.close();
      some.run();
      assertEquals(0, cuda.metrale_cuCtxGetCurrent());
    }
  }

  private static void assertEnds(Ranks.Rank rank, long sequence) {
    try {
      assertTrue(rank.communicator().operation(sequence).await(Ranks.LIMIT));
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
  }
}
