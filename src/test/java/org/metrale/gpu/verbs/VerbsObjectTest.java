package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.gpu.SoftwareHost;

/** Devices, limits, paths and events. */
@Tag("emulator")
@Timeout(60)
final class VerbsObjectTest {
  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  @Test
  void aDeviceTellsItsLimits() {
    try (VerbsDevice device = VerbsDevice.open(VerbsDevice.list().get(0))) {
      VerbsLimits limits = device.limits();
      assertTrue(limits.workRequests() > 0);
      assertTrue(limits.regionBytes() > 1L << 32);
      assertEquals(1, limits.ports());
      assertTrue(device.port(1).isActive());
      assertThrows(VerbsException.class, () -> device.port(9));
    }
  }

  @Test
  void theAddressIsChosenOrAskedForAndNeverCutOff() {
    String name = VerbsDevice.list().get(0);
    try (VerbsEnd chosen = new VerbsEnd(name, VerbsQueueSettings.DEFAULT)) {
      assertEquals(VerbsGidType.ROCE_V2, chosen.prepared.gid().type());
      assertTrue(chosen.prepared.gid().gid().isIpv4());
      assertTrue(chosen.prepared.gidReason().contains("routable IPv4"));
      assertEquals(0, chosen.prepared.lid());
      assertEquals(4096, chosen.prepared.mtuBytes());
      VerbsPath far = VerbsPath.DEFAULT.from(1, 200);
      IllegalStateException e =
          assertThrows(IllegalStateException.class, () -> open(chosen, far).close());
      assertTrue(e.getMessage().contains("no address at index 200"), e::getMessage);
      try (VerbsPreparedQueuePair small = open(chosen, VerbsPath.DEFAULT.withMtuCap(1024))) {
        assertEquals(1024, small.mtuBytes());
      }
    } catch (Exception e) {
      throw new AssertionError(e);
    }
    assertThrows(IllegalArgumentException.class, () -> VerbsPath.DEFAULT.from(1, 256));
    assertThrows(IllegalArgumentException.class, () -> VerbsPath.DEFAULT.withMtuCap(1500));
    assertThrows(IllegalArgumentException.class, () -> VerbsPath.DEFAULT.withService(16, 0));
    assertThrows(IllegalArgumentException.class, () -> VerbsPath.DEFAULT.withPatience(14, 8));
  }

  private static VerbsPreparedQueuePair open(VerbsEnd end, VerbsPath path) {
    return VerbsPreparedQueuePair.open(
        end.domain, end.completions, new VerbsQueueSettings(2, VerbsAccess.LOCAL_READ, path), 1);
  }

  @Test
  void aFailedConnectLeavesThePreparedQueuePairToBeClosed() throws Exception {
    try (VerbsEnd end =
        new VerbsEnd(
            VerbsDevice.list().get(0),
            new VerbsQueueSettings(
                2, VerbsAccess.LOCAL_READ, VerbsPath.DEFAULT.withPatience(10, 1)))) {
      VerbsRemote nowhere = new VerbsRemote(0, 0, VerbsGid.of(new byte[16]), 9);
      IllegalArgumentException e =
          assertThrows(IllegalArgumentException.class, () -> end.prepared.connect(nowhere).close());
      assertTrue(e.getMessage().contains("needs a GID"), e::getMessage);
      assertFalse(end.prepared.isClosed());
    }
  }

  @Test
  void eventsAreToldUntilTheListenerIsClosed() throws Exception {
    BlockingQueue<VerbsEvent> told = new LinkedBlockingQueue<>();
    String[] names = VerbsDevice.list().toArray(String[]::new);
    VerbsQueueSettings serving =
        new VerbsQueueSettings(2, VerbsAccess.REMOTE_READ, VerbsPath.DEFAULT);
    VerbsEnd[] ends = VerbsEnd.pair(names[0], VerbsQueueSettings.DEFAULT, names[1], serving);
    try (VerbsEnd client = ends[0];
        VerbsEnd server = ends[1]) {
      VerbsEventListener listener = VerbsEventListener.open(server.device, told::add);
      server.keep(listener);
      VerbsMemoryRegion near = client.memory(8, VerbsAccess.LOCAL_WRITE);
      VerbsWorkBatch batch = VerbsWorkBatch.allocate(1);
      batch.read(1, near, 0, 8, near.address(), 0x777);
      client.pair.post(batch);
      VerbsEvent event = told.poll(20, TimeUnit.SECONDS);
      assertEquals(VerbsEventType.QUEUE_PAIR_ACCESS_ERROR, event.type());
      assertEquals(server.pair.number(), event.queuePairNumber());
      listener.close();
      assertThrows(IllegalStateException.class, server.device::close);
    }
  }

  @Test
  void aListenerThatDoesNotReturnCannotHoldUpItsClose() throws Exception {
    String[] names = VerbsDevice.list().toArray(String[]::new);
    VerbsQueueSettings serving =
        new VerbsQueueSettings(2, VerbsAccess.REMOTE_READ, VerbsPath.DEFAULT);
    VerbsEnd[] ends = VerbsEnd.pair(names[0], VerbsQueueSettings.DEFAULT, names[1], serving);
    CountDownLatch told = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    try (VerbsEnd client = ends[0];
        VerbsEnd server = ends[1]) {
      VerbsEventListener listener =
          VerbsEventListener.open(
              server.device,
              event -> {
                told.countDown();
                awaitQuietly(go);
              });
      VerbsMemoryRegion near = client.memory(8, VerbsAccess.LOCAL_WRITE);
      VerbsWorkBatch batch = VerbsWorkBatch.allocate(1);
      batch.read(1, near, 0, 8, near.address(), 0x777);
      client.pair.post(batch);
      told.await();
      IllegalStateException e = assertThrows(IllegalStateException.class, listener::close);
      assertTrue(e.getMessage().contains("its listener waits"), e::toString);
      assertTrue(listener.isClosed());
    } finally {
      go.countDown();
    }
  }

  private static void awaitQuietly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void noDeviceOfThatNameIsSaid() {
    IllegalArgumentException e =
        assertThrows(IllegalArgumentException.class, () -> VerbsDevice.open("mlx5_0\0x").close());
    assertTrue(e.getMessage().contains("there are ["), e::getMessage);
  }
}
