package org.metrale.gpu.verbs;

import com.google.errorprone.annotations.MustBeClosed;
import java.util.List;
import java.util.function.Function;
import org.metrale.gpu.NativeResource;
import org.metrale.verbs.ibv_context;

/**
 * An RDMA device, opened.
 *
 * <p><b>Threading:</b> safe for any number of threads. <b>Blocking:</b> asking the driver may take
 * milliseconds.
 */
public final class VerbsDevice extends NativeResource {
  /** What Linux's driver of that name says of its maker. */
  private static final int SOFT_ROCE_VENDOR = 0xffffff;

  private final String name;
  private final ibv_context context;

  private VerbsDevice(String name, ibv_context context) {
    this.name = name;
    this.context = context;
  }

  /**
   * The devices present now.
   *
   * @return their names, in the kernel's order; empty on a machine without RDMA
   * @throws org.metrale.gpu.LibraryUnavailableException if libibverbs is not available
   * @throws VerbsException if the kernel refuses the list
   */
  public static List<String> list() {
    VerbsLibrary.require();
    return VerbsCalls.deviceNames();
  }

  /**
   * Opens a device by name.
   *
   * @param name for example {@code mlx5_0}
   * @return the device; close it after everything that was made on it
   * @throws org.metrale.gpu.LibraryUnavailableException if libibverbs is not available
   * @throws IllegalArgumentException if there is no such device; the message names those that there
   *     are
   * @throws VerbsException if it cannot be opened
   * @wraps {@code ibv_open_device}; verbs.h
   */
  @MustBeClosed
  public static VerbsDevice open(String name) {
    VerbsLibrary.require();
    return new VerbsDevice(name, VerbsCalls.openDevice(name));
  }

  /**
   * The device's name.
   *
   * @return as in {@link #list()}
   */
  public String name() {
    return name;
  }

  /**
   * The firmware's version.
   *
   * @return as the device gives it; may be empty
   * @throws IllegalStateException if this device is closed
   */
  public String firmwareVersion() {
    return using(() -> VerbsCalls.firmwareVersion(context));
  }

  /**
   * Whether this is Linux's Soft-RoCE, an adapter made of software.
   *
   * @return true if the device says so
   * @throws VerbsException if the device does not answer
   * @throws IllegalStateException if this device is closed
   * @wraps {@code ibv_query_device}; verbs.h
   */
  public boolean isSoftRoce() {
    return using(() -> VerbsCalls.vendor(context) == SOFT_ROCE_VENDOR);
  }

  /**
   * The device's ports with their addresses, read now.
   *
   * @return one entry a port, in order
   * @throws VerbsException if the device does not answer
   * @throws IllegalStateException if this device is closed
   * @wraps {@code ibv_query_port}, {@code ibv_query_gid_ex}; verbs.h
   */
  public List<VerbsPort> ports() {
    return using(() -> VerbsCalls.ports(context));
  }

  /**
   * What the device can do at most, read now.
   *
   * @return the limits
   * @throws VerbsException if the device does not answer, for example because it was removed
   * @throws IllegalStateException if this device is closed
   * @wraps {@code ibv_query_device}; verbs.h
   */
  public VerbsLimits limits() {
    return using(() -> VerbsCalls.limits(context));
  }

  /**
   * One port with its addresses, read now.
   *
   * @param portNumber from 1
   * @return the port
   * @throws VerbsException if there is no such port or the device does not answer
   * @throws IllegalStateException if this device is closed
   * @wraps {@code ibv_query_port}, {@code ibv_query_gid_ex}; verbs.h
   */
  public VerbsPort port(int portNumber) {
    return using(() -> VerbsCalls.readPort(context, portNumber));
  }

  /** Runs a call with the handle while this cannot be closed. */
  <T> T with(Function<ibv_context, T> call) {
    return using(() -> call.apply(context));
  }

  @Override
  protected void free() {
    VerbsCalls.closeDevice(context);
  }

  @Override
  public String toString() {
    return "RDMA device " + name;
  }
}
