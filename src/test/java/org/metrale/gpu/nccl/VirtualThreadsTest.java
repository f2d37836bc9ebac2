package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaEvent;

/** Threads that change their carrier between any two calls; needs a JDK that has them. */
@Tag("emulator")
class VirtualThreadsTest {
  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  private static ExecutorService virtualThreads() throws ReflectiveOperationException {
    assumeTrue(Runtime.version().feature() >= 21, "this JDK has no virtual threads");
    return (ExecutorService)
        Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
  }

  @Test
  void groupsAndEventsWorkFromVirtualThreads() throws Exception {
    ExecutorService threads = virtualThreads();
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      List<Future<?>> all = new ArrayList<>();
      for (int i = 0; i < 100; i++) {
        all.add(threads.submit(() -> exchange(ranks)));
      }
      for (Future<?> one : all) {
        one.get(30, TimeUnit.SECONDS);
      }
      assertEquals(199, ranks.get(0).communicator().flightRecord().lastCompleted());
    } finally {
      threads.shutdownNow();
    }
  }

  @Test
  void aVirtualThreadKeepsNoContextCurrent() throws Exception {
    ExecutorService threads = virtualThreads();
    try (CudaContext context = CudaContext.openPrimary(0)) {
      Future<IllegalStateException> refused =
          threads.submit(() -> assertThrows(IllegalStateException.class, context::attach));
      assertTrue(refused.get(30, TimeUnit.SECONDS).getMessage().contains("platform thread"));
    } finally {
      threads.shutdownNow();
    }
  }

  private static Void exchange(Ranks ranks) throws Exception {
    List<NcclOperation> operations =
        NcclGroup.run(
            group -> {
              for (Ranks.Rank rank : ranks.all()) {
                NcclCommunicator one = rank.communicator();
                int peer = 1 - one.rank();
                group.send(one, rank.send().buffer(), 4, NcclDataType.INT8, peer, rank.stream());
                group.receive(one, rank.recv().buffer(), 4, NcclDataType.INT8, peer, rank.stream());
              }
            });
    for (Ranks.Rank rank : ranks.all()) {
      try (CudaEvent event = CudaEvent.create(rank.context())) {
        rank.stream().record(event);
        assertTrue(event.synchronize(Ranks.LIMIT));
      }
    }
    for (NcclOperation operation : operations) {
      assertTrue(operation.await(Ranks.LIMIT));
    }
    return null;
  }
}
