package org.metrale.gpu.rail;

import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.atomic.AtomicIntegerArray;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.verbs.VerbsEvent;
import org.metrale.gpu.verbs.VerbsEventType;
import org.metrale.gpu.verbs.VerbsException;
import org.metrale.gpu.verbs.VerbsGid;

/** What the events of rails' devices mean for the rails that are connected. */
final class RailEvents implements RailSet.Listener {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");

  /** Of one queue pair, whose requests are flushed by the same. */
  private static final List<VerbsEventType> FAILURES =
      List.of(
          VerbsEventType.QUEUE_PAIR_FATAL,
          VerbsEventType.QUEUE_PAIR_REQUEST_ERROR,
          VerbsEventType.QUEUE_PAIR_ACCESS_ERROR);

  private final RailSet rails;
  private final RailConnections connections;
  private final TransferEngine engine;

  /** How often a rail's addresses have changed since somebody began to look at them. */
  private final AtomicIntegerArray addressChanges;

  RailEvents(RailSet rails, RailConnections connections, TransferEngine engine) {
    this.rails = rails;
    this.connections = connections;
    this.engine = engine;
    this.addressChanges = new AtomicIntegerArray(rails.size());
  }

  @Override
  public void happened(int rail, VerbsEvent event) {
    if (rail >= rails.size()) {
      return; // these are the first of more rails
    }
    VerbsEventType type = event.type();
    String device = rails.specs().get(rail).device();
    if (FAILURES.contains(type)) {
      engine.with(rail, link -> link.fault().told(event.queuePairNumber(), type));
    } else if (type.equals(VerbsEventType.DEVICE_FATAL)) {
      engine.with(
          rail,
          link -> {
            link.fault().told(link.fault().queuePair(), type);
            link.fail(new IllegalStateException(device + ": " + type));
          });
    } else if (type.equals(VerbsEventType.GID_CHANGE)
        && addressChanges.getAndIncrement(rail) == 0) {
      // The device is asked, which may take its time: other events are not to wait for that.
      BoundedCall.run(() -> lookForAddress(rail));
    }
  }

  /** Looks until there was no change since the last look. */
  private void lookForAddress(int rail) {
    int seen;
    do {
      seen = addressChanges.get(rail);
      try {
        failIfAddressIsLost(rail);
      } catch (RuntimeException | OutOfMemoryError e) {
        LOG.log(Level.WARNING, "the address of rail " + rail + " cannot be looked for", e);
      }
    } while (addressChanges.addAndGet(rail, -seen) != 0);
  }

  private void failIfAddressIsLost(int rail) {
    VerbsGid told = engine.links().get(rail).gid();
    if (has(rail, told)) {
      return;
    }
    String device = rails.specs().get(rail).device();
    engine.with(
        rail,
        link -> {
          // It may have come back meanwhile, with another.
          if (link.gid().equals(told)) {
            link.fail(new IllegalStateException(device + " has lost the address " + told));
          }
        });
  }

  private boolean has(int rail, VerbsGid told) {
    try {
      return connections.port(rail).gidTable().stream().anyMatch(entry -> entry.gid().equals(told));
    } catch (VerbsException e) {
      // A device that does not answer, as one whose network device was removed, has none.
      return false;
    }
  }
}
