package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.SoftwareHost;

/** Aborts, revocations and destructions that meet other calls. */
@Tag("emulator")
class NcclEndingTest {
  @TempDir Path folder;

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  @Test
  void aDestructionThatHangsIsBoundedAndNotAborted() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(FaultyJob.class, "1", "0", "1", folder.resolve("id").toString())
            .environment(
                "METRALE_EMULATOR_FAULT", "nccl.ncclCommDestroy hang;nccl.ncclCommAbort kill")
            .property("close", 500)
            .deadline(Duration.ofSeconds(40))
            .run()
            .succeeded();
    assertEquals("OK", result.value("rank0"));
    String said = result.value("rank0.close");
    assertTrue(said.contains("ncclCommDestroy: ncclTimeout (8)"), result.output());
    assertTrue(said.contains("left as it is"), said);
    assertEquals("reached", result.value("end"));
  }

  /** Revokes in another thread, and aborts meanwhile. */
  public static final class RevokeJob {
    private RevokeJob() {}

    public static void main(String[] arguments) throws Exception {
      try (Ranks ranks = new Ranks(1, 64, Ranks.CONFIG)) {
        NcclCommunicator one = ranks.get(0).communicator();
        FutureTask<String> revoking =
            new FutureTask<>(
                () -> {
                  try {
                    one.revoke();
                    return "OK";
                  } catch (NcclException e) {
                    return e.getMessage().replace('\n', ' ');
                  }
                });
        new Thread(revoking).start();
        Waiting.quietly(() -> one.failure().isPresent(), Ranks.LIMIT);
        one.abort();
        System.out.println("revoke=" + revoking.get(20, TimeUnit.SECONDS));
      }
      System.out.println("end=reached");
    }
  }

  @Test
  void aRevocationEndsWithAnAbort() throws Exception {
    ForkedJvm.Result result =
        SoftwareHost.running(RevokeJob.class)
            .environment("METRALE_EMULATOR_FAULT", "nccl.ncclCommRevoke hang")
            .deadline(Duration.ofSeconds(40))
            .run()
            .succeeded();
    assertTrue(result.value("revoke").contains("ncclCommRevoke"), result.output());
    assertEquals("reached", result.value("end"));
  }

  @Test
  void aGroupLooksAtAllCommunicatorsOnceItHasThem() throws Exception {
    try (Ranks first = new Ranks(1, 64, Ranks.CONFIG);
        Ranks second = new Ranks(1, 64, Ranks.CONFIG)) {
      NcclCommunicator broken = first.get(0).communicator();
      RankState busy = second.get(0).communicator().state();
      busy.gate.enter(Ranks.LIMIT);
      FutureTask<List<NcclOperation>> group =
          new FutureTask<>(
              () ->
                  NcclGroup.run(
                      both -> {
                        for (Ranks.Rank rank : List.of(first.get(0), second.get(0))) {
                          both.broadcast(
                              rank.communicator(),
                              rank.send().buffer(),
                              rank.recv().buffer(),
                              4,
                              NcclDataType.INT32,
                              0,
                              rank.stream());
                        }
                      }));
      new Thread(group).start();
      Waiting.quietly(() -> broken.state().gate.isBusy(), Ranks.LIMIT);
      broken.abort();
      busy.gate.leave();
      ExecutionException refused =
          assertThrows(ExecutionException.class, () -> group.get(20, TimeUnit.SECONDS));
      String said = refused.getCause().getMessage();
      assertTrue(said.contains("aborted by the program"), said);
      assertTrue(second.get(0).communicator().failure().isEmpty());
    }
  }

  @Test
  void aSplitThatIsGivenUpEndsItsParent() throws Exception {
    try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
      NcclCommunicator one = ranks.get(0).communicator();
      FutureTask<Object> splitting = new FutureTask<>(() -> one.split(-1, 0, Ranks.CONFIG));
      Thread thread = new Thread(splitting);
      thread.start();
      Waiting.quietly(() -> one.state().gate.isBusy(), Ranks.LIMIT);
      thread.interrupt();
      ExecutionException ended =
          assertThrows(ExecutionException.class, () -> splitting.get(20, TimeUnit.SECONDS));
      assertEquals(InterruptedException.class, ended.getCause().getClass());
      assertTrue(one.failure().isPresent());
      ranks.get(1).communicator().abort();
    }
  }

  @Test
  void aSplitEndsWithAnAbortOfItsParent() throws Exception {
    for (int color : new int[] {-1, 0}) {
      try (Ranks ranks = new Ranks(2, 64, Ranks.CONFIG)) {
        NcclCommunicator one = ranks.get(0).communicator();
        FutureTask<Object> splitting = new FutureTask<>(() -> one.split(color, 0, Ranks.CONFIG));
        new Thread(splitting).start();
        Waiting.quietly(() -> one.state().gate.isBusy(), Ranks.LIMIT);
        one.abort();
        ExecutionException ended =
            assertThrows(ExecutionException.class, () -> splitting.get(20, TimeUnit.SECONDS));
        assertTrue(ended.getCause().getMessage().contains("aborted"), ended.toString());
        ranks.get(1).communicator().abort();
      }
    }
  }
}
