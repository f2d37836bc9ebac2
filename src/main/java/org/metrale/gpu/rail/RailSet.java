package org.metrale.gpu.rail;

import com.google.errorprone.annotations.MustBeClosed;
import java.util.ArrayList;
import java.util.List;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.verbs.VerbsDevice;
import org.metrale.gpu.verbs.VerbsProtectionDomain;

/**
 * The rails of this side: each an open device with a protection domain. Memory is registered on it
 * and connections are made from it, as many as wanted.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class RailSet extends NativeResource {
  private final List<RailSpec> specs;
  private final List<VerbsProtectionDomain> domains;

  /** The devices, if they are this set's to close. */
  private final List<VerbsDevice> devices;

  private RailSet(
      List<RailSpec> specs,
      List<VerbsDevice> devices,
      List<VerbsProtectionDomain> domains,
      NativeResource... needs) {
    super(needs);
    this.specs = List.copyOf(specs);
    this.devices = devices;
    this.domains = domains;
  }

  /**
   * Opens the devices of all rails.
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
  @SuppressWarnings("MustBeClosed") // the set closes them
  public static RailSet open(List<RailSpec> specs) {
    requireCount(specs.size());
    List<VerbsDevice> devices = new ArrayList<>();
    List<VerbsProtectionDomain> domains = new ArrayList<>();
    try {
      for (RailSpec spec : specs) {
        devices.add(VerbsDevice.open(spec.device()));
        domains.add(VerbsProtectionDomain.open(devices.get(devices.size() - 1)));
      }
      return new RailSet(specs, devices, domains);
    } catch (RuntimeException e) {
      Closing.afterFailure(e, domains);
      Closing.afterFailure(e, devices);
      throw e;
    }
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
    } catch (RuntimeException e) {
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
    Closing.all(all);
  }

  @Override
  public String toString() {
    return "rails on " + specs.stream().map(RailSpec::device).toList();
  }
}
