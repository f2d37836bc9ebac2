package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import org.metrale.gpu.RdmaDevices;

/** A server whose queue pairs share their receives, and the clients of those. */
final class VerbsSharedHost implements AutoCloseable {
  static final VerbsQueueSettings SETTINGS =
      new VerbsQueueSettings(16, VerbsAccess.READ_WRITE, VerbsPath.DEFAULT).withInline(64);

  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  final VerbsDevice device;
  final VerbsProtectionDomain domain;
  final VerbsCompletionQueue completions;
  final VerbsSharedReceiveQueue shared;
  final VerbsMemoryRegion far;

  VerbsSharedHost(int depth) {
    this(depth, 64);
  }

  @SuppressWarnings("MustBeClosed") // close() does
  VerbsSharedHost(int depth, int completionEntries) {
    device = keep(VerbsDevice.open(RdmaDevices.servers().get(0)));
    domain = keep(VerbsProtectionDomain.open(device));
    completions = keep(VerbsCompletionQueue.open(device, completionEntries));
    far = keep(VerbsMemoryRegion.allocate(domain, 4096, VerbsAccess.READ_WRITE));
    shared = keep(VerbsSharedReceiveQueue.open(domain, depth));
  }

  <T extends AutoCloseable> T keep(T resource) {
    open.push(resource);
    return resource;
  }

  @SuppressWarnings("MustBeClosed") // close() does
  VerbsCompletionQueue anotherCompletionQueue() {
    return keep(VerbsCompletionQueue.open(device, 64));
  }

  /** One connection: the client's end, and the server's queue pair. */
  static final class Link {
    final VerbsEnd client;
    final VerbsQueuePair pair;
    final VerbsMemoryRegion near;
    private final VerbsWorkBatch batch = VerbsWorkBatch.allocate(16, 64);

    private Link(VerbsEnd client, VerbsQueuePair pair) {
      this.client = client;
      this.pair = pair;
      this.near = client.memory(4096, VerbsAccess.READ_WRITE);
    }

    void send(long workId, ByteBuffer bytes) {
      batch.sendInline(workId, bytes);
      assertEquals(1, client.pair.post(batch));
    }

    void send(long workId, int lengthBytes) {
      batch.send(workId, near, 0, lengthBytes);
      assertEquals(1, client.pair.post(batch));
    }

    void write(long workId, VerbsMemoryRegion region, int lengthBytes, int number) {
      batch.write(workId, near, 0, lengthBytes, region.address(), region.rkey());
      batch.immediate(number);
      assertEquals(1, client.pair.post(batch));
    }
  }

  Link join() {
    return join(completions, SETTINGS);
  }

  @SuppressWarnings("MustBeClosed") // close() does
  Link join(VerbsCompletionQueue queue, VerbsQueueSettings settings) {
    VerbsEnd client = keep(new VerbsEnd(RdmaDevices.clients().get(0), settings));
    VerbsPreparedQueuePair prepared =
        keep(VerbsPreparedQueuePair.open(queue, shared, settings, 0x654321));
    VerbsRemote remote =
        new VerbsRemote(
            prepared.number(), prepared.packetNumber(), prepared.gid().gid(), prepared.lid());
    VerbsQueuePair pair = keep(prepared.connect(client.remote()));
    client.connect(remote);
    return new Link(client, pair);
  }

  @Override
  public void close() throws Exception {
    while (!open.isEmpty()) {
      open.pop().close();
    }
  }
}
