package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.metrale.gpu.SoftwareHost;

/** What is refused, and what is said then; on the software GPU host. */
@Tag("emulator")
@Timeout(60)
final class VerbsRefusalTest {
  private static final Duration LIMIT = Duration.ofSeconds(20);

  /** The emulated adapter's own code is this and the status. */
  private static final int VENDOR = 0xe00;

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  private static VerbsEnd[] pair() {
    List<String> names = VerbsDevice.list();
    return VerbsEnd.pair(
        names.get(0),
        VerbsQueueSettings.DEFAULT,
        names.get(1),
        new VerbsQueueSettings(2, VerbsAccess.READ_WRITE, VerbsPath.DEFAULT));
  }

  @Test
  void aFailedRequestTellsWhatTheVendorSays() throws Exception {
    VerbsEnd[] ends = pair();
    try (VerbsEnd client = ends[0];
        VerbsEnd server = ends[1]) {
      VerbsMemoryRegion far = server.memory(64, VerbsAccess.REMOTE_READ);
      VerbsMemoryRegion near = client.memory(64, VerbsAccess.LOCAL_WRITE);
      VerbsWorkBatch batch = VerbsWorkBatch.allocate(2);
      batch.read(7, near, 0, 8, far.address(), far.rkey() ^ 0x5555);
      batch.read(8, near, 0, 8, far.address(), far.rkey());
      client.pair.post(batch);
      VerbsCompletions done = VerbsCompletions.allocate(1);
      int vendor = VENDOR + VerbsWorkStatus.REMOTE_ACCESS.code();
      assertEquals(1, client.completions.await(done, LIMIT));
      VerbsWorkException failure = done.failure(0);
      assertEquals(vendor, failure.vendorCode());
      assertTrue(
          failure
              .getMessage()
              .contains("workId=7 vendorCode=" + vendor + " queuePair=" + client.pair.number()),
          failure::toString);
      assertEquals(1, client.completions.await(done, LIMIT));
      VerbsWorkException flushed = done.failure(0);
      assertEquals(VENDOR + VerbsWorkStatus.FLUSHED.code(), flushed.vendorCode());
      assertEquals(vendor, ((VerbsWorkException) flushed.getCause()).vendorCode());
      assertEquals(vendor, client.pair.firstError().orElseThrow().vendorCode());
    }
  }

  @Test
  void theLongestDurationIsAWaitLikeAnyOther() throws Exception {
    Duration ever = Duration.ofSeconds(Long.MAX_VALUE);
    VerbsEnd[] ends = pair();
    try (VerbsEnd client = ends[0];
        VerbsEnd server = ends[1]) {
      VerbsMemoryRegion far = server.memory(64, VerbsAccess.REMOTE_READ);
      VerbsMemoryRegion near = client.memory(64, VerbsAccess.LOCAL_WRITE);
      VerbsWorkBatch batch = VerbsWorkBatch.allocate(1);
      VerbsCompletions done = VerbsCompletions.allocate(1);
      batch.read(7, near, 0, 8, far.address(), far.rkey());
      client.pair.post(batch);
      assertEquals(1, client.completions.await(done, ever));
      batch.read(8, near, 0, 8, far.address(), far.rkey());
      client.pair.post(batch);
      assertEquals(1, client.completions.poll(done, ever));
      Duration past = Duration.ofSeconds(Long.MIN_VALUE);
      assertEquals(0, client.completions.await(done, past));
      assertEquals(0, client.completions.poll(done, past));
    }
  }

  @Test
  void aQueuePairIsConnectedOnce() throws Exception {
    VerbsEnd[] ends = pair();
    try (VerbsEnd client = ends[0];
        VerbsEnd server = ends[1]) {
      VerbsRemote other = server.remote();
      assertThrows(IllegalStateException.class, () -> client.prepared.connect(other).close());
      // The first connection is as it was.
      VerbsMemoryRegion far = server.memory(64, VerbsAccess.REMOTE_READ);
      VerbsMemoryRegion near = client.memory(64, VerbsAccess.LOCAL_WRITE);
      VerbsWorkBatch batch = VerbsWorkBatch.allocate(1);
      batch.read(1, near, 0, 8, far.address(), far.rkey());
      client.pair.post(batch);
      VerbsCompletions done = VerbsCompletions.allocate(1);
      assertEquals(1, client.completions.await(done, LIMIT));
      assertTrue(done.isSuccess(0));
    }
  }

  @Tag("slow")
  @Test
  void whatADeviceCannotIsSaidBeforeItIsAsked(@TempDir Path folder) throws Exception {
    String said =
        SoftwareHost.running(
                folder,
                "ibv.max_message_bytes = 5000; ibv.0.gids = -, v2 10.20.0.1 eth0; "
                    + "fault = ibverbs.ibv_modify_qp device=0 call=2 code=22",
                Probe.class)
            .run()
            .succeeded()
            .value("connecting");
    // Both addresses and the reason for this side's, or nobody could tell which of them is wrong.
    assertTrue(said.contains("EINVAL"), said);
    assertTrue(said.contains("10.20.1.1"), said);
    assertTrue(said.contains("10.20.0.1"), said);
    assertTrue(said.contains("RoCE v2 with a routable IPv4 address"), said);
  }

  /** A port with short messages and an empty place in its table, where one call fails. */
  static final class Probe {
    private Probe() {}

    /** Runs it. */
    public static void main(String[] arguments) throws Exception {
      List<String> names = VerbsDevice.list();
      try (VerbsEnd one = new VerbsEnd(names.get(0), VerbsQueueSettings.DEFAULT);
          VerbsEnd other = new VerbsEnd(names.get(1), VerbsQueueSettings.DEFAULT)) {
        VerbsException e =
            assertThrows(VerbsException.class, () -> one.prepared.connect(other.remote()).close());
        assertFalse(one.prepared.isClosed());
        System.out.println("connecting=" + e.getMessage());
      }
      VerbsEnd[] ends = pair();
      try (VerbsEnd client = ends[0];
          VerbsEnd server = ends[1]) {
        emptyPlace(client);
        longMessage(client, server);
      }
    }

    private static void emptyPlace(VerbsEnd client) {
      VerbsPath empty = VerbsPath.DEFAULT.from(1, 0);
      IllegalStateException e =
          assertThrows(
              IllegalStateException.class,
              () ->
                  VerbsPreparedQueuePair.open(
                          client.domain,
                          client.completions,
                          new VerbsQueueSettings(1, VerbsAccess.LOCAL_READ, empty),
                          1)
                      .close());
      assertTrue(e.getMessage().contains("no address at index 0"), e::getMessage);
    }

    private static void longMessage(VerbsEnd client, VerbsEnd server) throws Exception {
      VerbsMemoryRegion far = server.memory(5001, VerbsAccess.REMOTE_READ);
      VerbsMemoryRegion near = client.memory(5001, VerbsAccess.LOCAL_WRITE);
      VerbsWorkBatch batch = VerbsWorkBatch.allocate(2);
      batch.read(1, near, 0, 8, far.address(), far.rkey());
      batch.read(2, near, 0, 5001, far.address(), far.rkey());
      IllegalArgumentException e =
          assertThrows(IllegalArgumentException.class, () -> client.pair.post(batch));
      assertTrue(e.getMessage().contains("of this port has at most 5000"), e::getMessage);
      assertEquals(2, batch.size());
      assertEquals(0, client.pair.inFlight());
      batch.clear();
      batch.read(3, near, 0, 5000, far.address(), far.rkey());
      assertEquals(1, client.pair.post(batch));
      VerbsCompletions done = VerbsCompletions.allocate(1);
      assertEquals(1, client.completions.await(done, LIMIT));
      assertTrue(done.isSuccess(0));
    }
  }
}
