package org.metrale.gpu.rail;

import java.util.List;
import org.metrale.gpu.verbs.VerbsEvent;
import org.metrale.gpu.verbs.VerbsEventType;
import org.metrale.gpu.verbs.VerbsException;
import org.metrale.gpu.verbs.VerbsGid;

/** What the events of rails' devices mean for the rails that are connected. */
final class RailEvents implements RailSet.Listener {
  /** Of one queue pair, whose requests are flushed by the same. */
  private static final List<VerbsEventType> FAILURES =
      List.of(
          VerbsEventType.QUEUE_PAIR_FATAL,
          VerbsEventType.QUEUE_PAIR_REQUEST_ERROR,
          VerbsEventType.QUEUE_PAIR_ACCESS_ERROR);

  private final RailSet rails;
  private final RailConnections connections;
  private final TransferEngine engine;

  RailEvents(RailSet rails, RailConnections connections, TransferEngine engine) {
    this.rails = rails;
    this.connections = connections;
    this.engine = engine;
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
    } else if (type.equals(VerbsEventType.GID_CHANGE) && hasLostAddress(rail)) {
      engine.with(
          rail,
          link ->
              link.fail(new IllegalStateException(device + " has lost the address " + link.gid())));
    }
  }

  private boolean hasLostAddress(int rail) {
    VerbsGid told = engine.links().get(rail).gid();
    try {
      return connections.port(rail).gidTable().stream()
          .noneMatch(entry -> entry.gid().equals(told));
    } catch (VerbsException e) {
      // A device that does not answer, as one whose network device was removed, has none.
      return true;
    }
  }
}
