package org.metrale.gpu.verbs;

import java.util.ArrayDeque;
import java.util.Deque;

/** One end of a connection: a device, a domain, a completion queue and a queue pair. */
final class VerbsEnd implements AutoCloseable {
  private final Deque<AutoCloseable> open = new ArrayDeque<>();
  final VerbsDevice device;
  final VerbsProtectionDomain domain;
  final VerbsCompletionQueue completions;
  final VerbsPreparedQueuePair prepared;
  VerbsQueuePair pair;

  VerbsEnd(String name, VerbsQueueSettings settings) {
    this(name, settings, 512);
  }

  @SuppressWarnings("MustBeClosed") // close() does
  VerbsEnd(String name, VerbsQueueSettings settings, int completionEntries) {
    device = keep(VerbsDevice.open(name));
    domain = keep(VerbsProtectionDomain.open(device));
    completions = keep(VerbsCompletionQueue.open(device, completionEntries));
    prepared = keep(VerbsPreparedQueuePair.open(domain, completions, settings, 0x123456));
  }

  /** Two ends that are connected to each other. */
  static VerbsEnd[] pair(
      String firstName, VerbsQueueSettings first, String secondName, VerbsQueueSettings second) {
    VerbsEnd[] out = {new VerbsEnd(firstName, first), new VerbsEnd(secondName, second)};
    VerbsRemote one = out[0].remote();
    VerbsRemote other = out[1].remote();
    out[0].connect(other);
    out[1].connect(one);
    return out;
  }

  VerbsRemote remote() {
    return new VerbsRemote(
        prepared.number(), prepared.packetNumber(), prepared.gid().gid(), prepared.lid());
  }

  @SuppressWarnings("MustBeClosed") // close() does
  void connect(VerbsRemote remote) {
    pair = keep(prepared.connect(remote));
  }

  @SuppressWarnings("MustBeClosed") // close() does
  VerbsMemoryRegion memory(long bytes, VerbsAccess access) {
    return keep(VerbsMemoryRegion.allocate(domain, bytes, access));
  }

  <T extends AutoCloseable> T keep(T resource) {
    open.push(resource);
    return resource;
  }

  @Override
  public void close() throws Exception {
    if (pair != null) {
      pair.close();
    }
    while (!open.isEmpty()) {
      open.pop().close();
    }
  }
}
