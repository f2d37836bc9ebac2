package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.RdmaDevices;

/** Ways of access to memory that a device may not have. */
@Timeout(60)
abstract class VerbsAccessCases {
  private VerbsEnd client;
  private VerbsEnd server;

  @BeforeEach
  void connect() {
    VerbsQueueSettings settings =
        new VerbsQueueSettings(2, VerbsAccess.READ_WRITE, VerbsPath.DEFAULT);
    VerbsEnd[] ends =
        VerbsEnd.pair(
            RdmaDevices.clients().get(0), settings, RdmaDevices.servers().get(0), settings);
    client = ends[0];
    server = ends[1];
  }

  @AfterEach
  void close() throws Exception {
    client.close();
    server.close();
  }

  /** A read into memory of that access brings the bytes. */
  private void readsInto(VerbsMemoryRegion near) throws InterruptedException {
    VerbsMemoryRegion far = server.memory(64, VerbsAccess.REMOTE_READ);
    far.write(3, ByteBuffer.wrap(new byte[] {9}));
    VerbsWorkBatch batch = VerbsWorkBatch.allocate(1);
    batch.read(1, near, 0, 8, far.address(), far.rkey());
    client.pair.post(batch);
    VerbsCompletions done = VerbsCompletions.allocate(1);
    assertEquals(1, client.completions.await(done, Duration.ofSeconds(20)));
    assertTrue(done.isSuccess(0), () -> done.failure(0).toString());
    ByteBuffer byte3 = ByteBuffer.allocate(1);
    near.read(3, byte3);
    assertEquals(9, byte3.get(0));
  }

  /** A device that cannot is as good: it writes in order. */
  @Test
  void memoryMayBeWrittenOutOfOrderIfThatIsAskedFor() throws Exception {
    readsInto(client.memory(64, VerbsAccess.LOCAL_WRITE.and(VerbsAccess.RELAXED_ORDERING)));
  }

  /** Pages that are fetched on demand are refused where there are none, not taken for others. */
  @Test
  void pagesAreFetchedOnDemandOrThatIsRefused() throws Exception {
    VerbsMemoryRegion near;
    try {
      near = client.memory(4096, VerbsAccess.LOCAL_WRITE.and(VerbsAccess.ON_DEMAND));
    } catch (VerbsException e) {
      assertTrue(Set.of("EOPNOTSUPP", "EINVAL").contains(e.symbol()), e::toString);
      assertTrue(
          e.getMessage()
              .contains(
                  "access=local read, local write, on demand; few devices fetch pages on demand"),
          e::getMessage);
      return;
    }
    assertFalse(NativeLibrary.IBVERBS.isEmulated(), "the software GPU host cannot");
    readsInto(near);
  }
}
