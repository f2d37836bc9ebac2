package org.metrale.gpu.rail;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.verbs.VerbsPort;
import org.metrale.gpu.wire.Region;
import org.metrale.gpu.wire.RoRailFrame;
import org.metrale.gpu.wire.RoServerRecord;
import org.metrale.gpu.wire.RwRailFrame;
import org.metrale.gpu.wire.RwServerRecord;
import org.metrale.gpu.wire.ServerFrame;

/**
 * The connections that a client's rails are on: the first one, and those by which rails came back
 * while the others stayed. One that no rail is on any more is hung up.
 */
final class RailConnections implements RailRecovery.Attempt {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");
  private static final Duration REBUILD_LIMIT = Duration.ofSeconds(10);

  /** How long a device may take to say how it is. */
  private static final Duration ANSWER_LIMIT = Duration.ofSeconds(1);

  private final RailClient client;
  private final RailSet rails;
  private final RailMemory fence;
  private final TransferEngine engine;

  /** What devices were asked and have not answered; used by the thread that rebuilds. */
  private final Map<Integer, CompletableFuture<Boolean>> asked = new HashMap<>();

  /** Those in use, the newest last. */
  private volatile List<RailGeneration> all;

  /** The newest record of each rail. */
  private volatile ServerFrame offer;

  /** Rails from here on are left out: the last attempt with them came to nothing. */
  private int end;

  RailConnections(RailClient client, RailSet rails, RailMemory fence, TransferEngine engine) {
    this.client = client;
    this.rails = rails;
    this.fence = fence;
    this.engine = engine;
    this.end = rails.size();
  }

  void begin(RailGeneration first) {
    all = List.of(first);
    offer = first.offer();
    engine.begin(links(first));
  }

  ServerFrame offer() {
    return offer;
  }

  HandshakeTransport transport() {
    return all.get(all.size() - 1).transport();
  }

  VerbsPort port(int rail) {
    return rails.domain(rail).device().port(rails.specs().get(rail).path().portNumber());
  }

  @Override
  public RailRecovery.Outcome rebuild() throws IOException {
    List<RailLink> before = engine.links();
    NavigableSet<Integer> wanted = new TreeSet<>();
    for (RailLink link : before) {
      if (link.isDown() && link.rail() < end && isUsable(link.rail())) {
        wanted.add(link.rail());
      }
    }
    if (wanted.isEmpty()) {
      end = rails.size();
      return isComplete() ? RailRecovery.Outcome.COMPLETE : RailRecovery.Outcome.NOTHING;
    }
    if (before.stream().allMatch(RailLink::isDown)) {
      // What they cost the peer may be what it needs for the new one.
      all.forEach(RailGeneration::hangUp);
    }
    RailGeneration fresh;
    try {
      fresh =
          RailGeneration.connect(
              client.terms(), rails, wanted, offer.rails(), Deadline.after(REBUILD_LIMIT));
    } catch (IOException | RuntimeException | Error e) {
      // One side may have lost the last of them: the others are worth an attempt without it.
      end = wanted.size() > 1 ? wanted.last() : rails.size();
      throw e;
    }
    end = rails.size();
    adopt(fresh);
    return isComplete() ? RailRecovery.Outcome.COMPLETE : RailRecovery.Outcome.PARTIAL;
  }

  private boolean isComplete() {
    return engine.links().stream().allMatch(RailLink::isActive);
  }

  /** Whether this side's device could be connected; one that does not answer is asked once. */
  private boolean isUsable(int rail) {
    CompletableFuture<Boolean> answer =
        asked.computeIfAbsent(rail, one -> BoundedCall.start(() -> port(one).isActive()));
    try {
      boolean isActive = BoundedCall.await(answer, ANSWER_LIMIT);
      asked.remove(rail);
      return isActive;
    } catch (TimeoutException e) {
      return false;
    } catch (RuntimeException e) {
      asked.remove(rail);
      LOG.log(Level.DEBUG, "rail " + rail + " has no device any more", e);
      return false;
    }
  }

  private void adopt(RailGeneration fresh) {
    List<RailLink> links;
    try {
      links = links(fresh);
    } catch (RuntimeException | OutOfMemoryError e) {
      fresh.closeAfter(e);
      throw e;
    }
    List<RailGeneration> both = new ArrayList<>(all);
    both.add(fresh);
    all = List.copyOf(both);
    offer = merged(links, fresh.offer());
    if (!engine.replace(links)) {
      hangUp();
      return;
    }
    List<RailLink> now = engine.links();
    for (RailGeneration connection : both) {
      if (now.stream().noneMatch(link -> link.isOn(connection))) {
        connection.hangUp();
      }
    }
    all = both.stream().filter(one -> now.stream().anyMatch(link -> link.isOn(one))).toList();
  }

  private List<RailLink> links(RailGeneration from) {
    List<RailLink> out = new ArrayList<>();
    for (int rail = 0; rail < from.ends().size(); rail++) {
      if (from.ends().get(rail) != null) {
        List<Region> regions = from.offer().rails().get(rail).regions();
        out.add(new RailLink(rail, from.ends().get(rail), regions, fence, engine));
      }
    }
    return out;
  }

  /** The offer as it is now that these rails have other records. */
  private ServerFrame merged(List<RailLink> links, ServerFrame fresh) {
    if (offer instanceof RoRailFrame before && fresh instanceof RoRailFrame after) {
      List<RoServerRecord> records = new ArrayList<>(before.rails());
      links.forEach(link -> records.set(link.rail(), after.rails().get(link.rail())));
      return new RoRailFrame(records);
    }
    List<RwServerRecord> records = new ArrayList<>(((RwRailFrame) offer).rails());
    links.forEach(link -> records.set(link.rail(), ((RwRailFrame) fresh).rails().get(link.rail())));
    return new RwRailFrame(records);
  }

  /** Lets the peer know that it is over. */
  void hangUp() {
    all.forEach(RailGeneration::hangUp);
  }
}
