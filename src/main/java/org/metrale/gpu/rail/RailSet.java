package org.metrale.gpu.rail;

import com.google.errorprone.annotations.MustBeClosed;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.verbs.VerbsDevice;
import org.metrale.gpu.verbs.VerbsEvent;
import org.metrale.gpu.verbs.VerbsEventListener;
import org.metrale.gpu.verbs.VerbsProtectionDomain;

/**
 * The rails of this side: each an open device with a protection domain. Memory is registered on it
 * and connections are made from it, as many as wanted. Listens to the devices' events.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class RailSet extends NativeResource {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");

  private final List<RailSpec> specs;
  private final List<VerbsProtectionDomain> domains;

  /** The devices, if they are this set's to close. */
  private final List<VerbsDevice> devices;

  /** The set whose devices these are; null if they are this set's own. */
  private final RailSet parent;

  /** Listens to this set's own devices. */
  private final List<VerbsEventListener> events = new ArrayList<>();

  private final List<Listener> listeners = new CopyOnWriteArrayList<>();

  /** Is told, on a thread of the device's, of what happens to a rail's device. */
  interface Listener {
    void happened(int rail, VerbsEvent event);
  }

  private RailSet(
      List<RailSpec> specs,
      List<VerbsDevice> devices,
      List<VerbsProtectionDomain> domains,
      RailSet parent) {
    super(parent == null ? new NativeResource[0] : new NativeResource[] {parent});
    this.parent = parent;
    this.specs = List.copyOf(specs);
    this.devices = devices;
    this.domains = domains;
  }

  /**
   * Opens the devices of all rails.
   *
   * <p><b>Blocking:</b> {@link VerbsDevice#DEFAULT_CALL_TIMEOUT} for a device that does not answer,
   * and as much again to close it.
   *
   * @param specs the rails, 1 to 8, the first rail first
   * @return the set
   * @throws IllegalArgumentException if there are none or too many, or one names no device of this
   *     machine
   * @throws org.metrale.gpu.LibraryUnavailableException if libibverbs is not available
   * @throws org.metrale.gpu.verbs.VerbsException if a device cannot be opened; what was open is
   *     closed
   */
  @MustBeClosed
  public static RailSet open(List<RailSpec> specs) {
    return open(specs, VerbsDevice.DEFAULT_CALL_TIMEOUT);
  }

  /**
   * Opens the devices of all rails.
   *
   * <p><b>Blocking:</b> that time for a device that does not answer, and as much again to close it.
   *
   * @param specs the rails, 1 to 8, the first rail first
   * @param callTimeout how long a call on a device may take, now and later, see {@link
   *     VerbsDevice#open(String, Duration)}
   * @return the set
   * @throws IllegalArgumentException if there are none or too many, one names no device of this
   *     machine, or the time is not positive
   * @throws org.metrale.gpu.LibraryUnavailableException if libibverbs is not available
   * @throws org.metrale.gpu.verbs.VerbsException if a device cannot be opened; what was open is
   *     closed
   */
  @MustBeClosed
  @SuppressWarnings("MustBeClosed") // the set closes them
  public static RailSet open(List<RailSpec> specs, Duration callTimeout) {
    requireCount(specs.size());
    List<VerbsDevice> devices = new ArrayList<>();
    List<VerbsProtectionDomain> domains = new ArrayList<>();
    RailSet out;
    try {
      for (RailSpec spec : specs) {
        devices.add(VerbsDevice.open(spec.device(), callTimeout));
        domains.add(VerbsProtectionDomain.open(devices.get(devices.size() - 1)));
      }
      out = new RailSet(specs, devices, domains, null);
    } catch (RuntimeException | Error e) {
      Closing.afterFailure(e, domains);
      Closing.afterFailure(e, devices);
      throw e;
    }
    try {
      out.listen();
      return out;
    } catch (RuntimeException | Error e) {
      Closing.afterFailure(e, List.of(out));
      throw e;
    }
  }

  @SuppressWarnings("MustBeClosed") // free() closes them
  private void listen() {
    for (int i = 0; i < devices.size(); i++) {
      int rail = i;
      events.add(VerbsEventListener.open(devices.get(rail), event -> tellEach(rail, event)));
    }
  }

  /** What one makes of it keeps it from nobody else. */
  private void tellEach(int rail, VerbsEvent event) {
    for (Listener listener : listeners) {
      try {
        listener.happened(rail, event);
      } catch (RuntimeException | Error e) {
        LOG.log(Level.WARNING, "a listener failed on " + event + " of rail " + rail, e);
      }
    }
  }

  /** Keeps the devices open for a rail's end, also one that is only about to be made. */
  void pin() {
    owner().hold();
  }

  /** Ends what {@link #pin()} began. */
  void unpin() {
    owner().letGo();
  }

  void add(Listener listener) {
    owner().listeners.add(listener);
  }

  void remove(Listener listener) {
    owner().listeners.remove(listener);
  }

  private RailSet owner() {
    RailSet out = this;
    while (out.parent != null) {
      out = out.parent;
    }
    return out;
  }

  /**
   * Protection domains of their own on the first rails' devices: what is registered there is out of
   * reach for peers that are connected through this set, and the other way round.
   *
   * @param rails how many rails, from the first on
   * @return a set that keeps this one open
   * @throws IllegalArgumentException if there are not that many
   * @throws org.metrale.gpu.verbs.VerbsException if a device refuses
   */
  @MustBeClosed
  @SuppressWarnings("MustBeClosed") // the set closes them
  public RailSet apart(int rails) {
    if (rails < 1 || rails > size()) {
      throw new IllegalArgumentException("rails: wanted 1 to " + size() + ", got " + rails);
    }
    List<VerbsProtectionDomain> own = new ArrayList<>();
    try {
      for (int rail = 0; rail < rails; rail++) {
        own.add(VerbsProtectionDomain.open(domains.get(rail).device()));
      }
      return new RailSet(specs.subList(0, rails), List.of(), own, this);
    } catch (RuntimeException | Error e) {
      Closing.afterFailure(e, own);
      throw e;
    }
  }

  /**
   * How many rails there are.
   *
   * @return 1 to 8
   */
  public int size() {
    return specs.size();
  }

  /**
   * What was wanted of the rails.
   *
   * @return one each, the first rail first
   */
  public List<RailSpec> specs() {
    return specs;
  }

  List<VerbsProtectionDomain> domains() {
    return List.copyOf(domains);
  }

  VerbsProtectionDomain domain(int rail) {
    return domains.get(rail);
  }

  private static void requireCount(int count) {
    if (count < 1 || count > 8) {
      throw new IllegalArgumentException("rails: wanted 1 to 8, got " + count);
    }
  }

  @Override
  protected void free() {
    List<AutoCloseable> all = new ArrayList<>(devices);
    all.addAll(domains);
    all.addAll(events);
    Closing.all(all);
  }

  @Override
  public String toString() {
    return "rails on " + specs.stream().map(RailSpec::device).toList();
  }
}
