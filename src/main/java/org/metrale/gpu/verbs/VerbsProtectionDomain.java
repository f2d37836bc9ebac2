package org.metrale.gpu.verbs;

import com.google.errorprone.annotations.MustBeClosed;
import java.util.function.Function;
import org.metrale.gpu.NativeResource;
import org.metrale.verbs.ibv_pd;

/**
 * What memory regions and queue pairs must share to work together; a peer that is connected through
 * one domain cannot reach memory of another.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class VerbsProtectionDomain extends NativeResource {
  private final VerbsDevice device;
  private final ibv_pd handle;

  private VerbsProtectionDomain(VerbsDevice device, ibv_pd handle) {
    super(device);
    this.device = device;
    this.handle = handle;
  }

  /**
   * Makes a protection domain.
   *
   * @param device the device; stays open until the domain is closed
   * @return the domain
   * @throws VerbsException if the device refuses, for example because it has no more
   * @throws IllegalStateException if the device is closed
   * @wraps {@code ibv_alloc_pd}; verbs.h
   */
  @MustBeClosed
  public static VerbsProtectionDomain open(VerbsDevice device) {
    return device.within(
        "ibv_alloc_pd",
        () ->
            device.with(
                context ->
                    new VerbsProtectionDomain(device, VerbsObjectCalls.allocateDomain(context))),
        VerbsProtectionDomain::close);
  }

  /**
   * The device that it belongs to.
   *
   * @return the device, open as long as this is
   */
  public VerbsDevice device() {
    return device;
  }

  /** Runs a call with the handle while this cannot be closed. */
  <T> T with(Function<ibv_pd, T> call) {
    return using(() -> call.apply(handle));
  }

  @Override
  protected void free() {
    device.end("ibv_dealloc_pd", 0, () -> VerbsObjectCalls.freeDomain(handle), keepNeeds());
  }

  @Override
  public String toString() {
    return "protection domain of " + device;
  }
}
