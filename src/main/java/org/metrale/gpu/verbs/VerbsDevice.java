package org.metrale.gpu.verbs;

import com.google.errorprone.annotations.MustBeClosed;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import org.metrale.gpu.CallLimit;
import org.metrale.gpu.NativeResource;
import org.metrale.verbs.ibv_context;

/**
 * An RDMA device, opened.
 *
 * <p><b>Blocking:</b> asking the driver takes milliseconds, and at most the time given at opening:
 * that holds for every call on this device and on what is made on it that makes, asks, changes or
 * ends something. One that takes longer throws a {@link VerbsException} that {@linkplain
 * VerbsException#isUnfinished() says so}; it keeps a thread of this layer and everything that it
 * uses open, and what it makes after all is closed at once. Posting and reaping are calls into the
 * device's own memory, without a limit.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class VerbsDevice extends NativeResource {
  /** How long a call may take if nothing else is said. */
  public static final Duration DEFAULT_CALL_TIMEOUT = Duration.ofSeconds(30);

  /** What Linux's driver of that name says of its maker. */
  private static final int SOFT_ROCE_VENDOR = 0xffffff;

  /** Registering takes its time by the page. */
  private static final Duration FOR_EACH_GIB = Duration.ofSeconds(4);

  /**
   * What was given up waiting for before there was a device to count it: by the name that was to be
   * opened, or none for the list.
   */
  private static final Map<String, CallLimit> UNOPENED = new ConcurrentHashMap<>();

  private final String name;
  private final ibv_context context;
  private final VerbsCallers callers;

  private VerbsDevice(String name, ibv_context context, VerbsCallers callers) {
    this.name = name;
    this.context = context;
    this.callers = callers;
  }

  /**
   * The devices present now.
   *
   * <p><b>Blocking:</b> {@link #DEFAULT_CALL_TIMEOUT} at most.
   *
   * @return their names, in the kernel's order; empty on a machine without RDMA
   * @throws org.metrale.gpu.LibraryUnavailableException if libibverbs is not available
   * @throws VerbsException if the kernel refuses the list, or does not answer in time
   */
  public static List<String> list() {
    return list(DEFAULT_CALL_TIMEOUT);
  }

  /**
   * The devices present now.
   *
   * <p><b>Blocking:</b> until the time is over at the latest.
   *
   * @param timeout how long to wait at most
   * @return their names, in the kernel's order; empty on a machine without RDMA
   * @throws org.metrale.gpu.LibraryUnavailableException if libibverbs is not available
   * @throws VerbsException if the kernel refuses the list, or does not answer in time
   * @throws IllegalArgumentException if the time is not positive
   * @wraps {@code ibv_get_device_list}; verbs.h
   */
  public static List<String> list(Duration timeout) {
    return unopened(
        "",
        timeout,
        new VerbsCallers.Call("ibv_get_device_list", "all devices"),
        VerbsCalls::deviceNames,
        names -> {});
  }

  private static <T> T unopened(
      String name,
      Duration timeout,
      VerbsCallers.Call call,
      Supplier<T> work,
      Consumer<? super T> tooLate) {
    CallLimit late = UNOPENED.computeIfAbsent(name, unused -> new CallLimit());
    try {
      VerbsCallers callers = new VerbsCallers(timeout, late);
      VerbsLibrary.require();
      return callers.within(call, work, tooLate);
    } finally {
      if (late.running() == 0) {
        UNOPENED.remove(name, late);
      }
    }
  }

  /**
   * Opens a device by name.
   *
   * <p><b>Blocking:</b> {@link #DEFAULT_CALL_TIMEOUT} at most, as for every call on it.
   *
   * @param name for example {@code mlx5_0}
   * @return the device; close it after everything that was made on it
   * @throws org.metrale.gpu.LibraryUnavailableException if libibverbs is not available
   * @throws IllegalArgumentException if there is no such device; the message names those that there
   *     are
   * @throws VerbsException if it cannot be opened, or has not been in time
   * @wraps {@code ibv_open_device}; verbs.h
   */
  @MustBeClosed
  public static VerbsDevice open(String name) {
    return open(name, DEFAULT_CALL_TIMEOUT);
  }

  /**
   * Opens a device by name.
   *
   * <p><b>Blocking:</b> until the time is over at the latest.
   *
   * @param name for example {@code mlx5_0}
   * @param callTimeout how long opening, and any other call on the device, may take; registering
   *     and deregistering memory gets four seconds more for each GiB. With {@code
   *     ChronoUnit.FOREVER.getDuration()} calls are made in the caller's thread, as fast as in C
   *     and as long
   * @return the device; close it after everything that was made on it
   * @throws org.metrale.gpu.LibraryUnavailableException if libibverbs is not available
   * @throws IllegalArgumentException if there is no such device, the message names those that there
   *     are; or if the time is not positive
   * @throws VerbsException if it cannot be opened, or has not been in time
   * @wraps {@code ibv_open_device}; verbs.h
   */
  @MustBeClosed
  public static VerbsDevice open(String name, Duration callTimeout) {
    ibv_context context =
        unopened(
            name,
            callTimeout,
            new VerbsCallers.Call("ibv_open_device", "device=" + name),
            () -> VerbsCalls.openDevice(name),
            VerbsCalls::closeDevice);
    return new VerbsDevice(name, context, new VerbsCallers(callTimeout));
  }

  /**
   * How long a call on this device may take.
   *
   * @return as given at opening
   */
  public Duration callTimeout() {
    return callers.limit();
  }

  /**
   * How many calls on this device were given up waiting for and have not returned. Each keeps a
   * thread of this layer; from 16 on no more are made until one returns, but those that end
   * something. Calls that open a device are counted by its name, and those that list all of them by
   * themselves.
   *
   * @return their number now
   */
  public int unfinishedCalls() {
    return callers.late();
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
    return ask("ibv_query_device", VerbsCalls::firmwareVersion);
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
    return ask("ibv_query_device", VerbsCalls::vendor) == SOFT_ROCE_VENDOR;
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
    return ask("ibv_query_port", VerbsCalls::ports);
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
    return ask("ibv_query_device", VerbsCalls::limits);
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
    return ask("ibv_query_port", handle -> VerbsCalls.readPort(handle, portNumber));
  }

  /** Runs a call that does not wait, with the handle, while this cannot be closed. */
  <T> T with(Function<ibv_context, T> call) {
    return using(() -> call.apply(context));
  }

  private <T> T ask(String call, Function<ibv_context, T> question) {
    return within(call, () -> with(question), answer -> {});
  }

  /**
   * Makes a call on this device or on something of it, within this device's time.
   *
   * @param call the C name
   * @param work keeps open what it uses
   * @param tooLate takes the answer if nobody waits for it any more
   */
  <T> T within(String call, Supplier<T> work, Consumer<? super T> tooLate) {
    return callers.within(about(call), work, tooLate);
  }

  /**
   * Makes a call within a given time.
   *
   * @param after runs when it has returned, or if it is not made
   */
  <T> T within(
      Duration time, String call, Supplier<T> work, Runnable after, Consumer<? super T> tooLate) {
    return callers.within(time, about(call), work, after, tooLate);
  }

  /**
   * Makes a call that ends something of this device.
   *
   * @param after lets go of what the call uses, when it has returned
   */
  void end(String call, long bytes, Runnable work, Runnable after) {
    callers.end(timeFor(bytes), about(call), work, after);
  }

  private VerbsCallers.Call about(String call) {
    return new VerbsCallers.Call(call, "device=" + name);
  }

  /** How long a call may take that takes the longer the more bytes it is about. */
  Duration timeFor(long bytes) {
    Duration limit = callers.limit();
    return CallLimit.isLimited(limit) ? limit.plus(FOR_EACH_GIB.multipliedBy(bytes >> 30)) : limit;
  }

  @Override
  protected void free() {
    end("ibv_close_device", 0, () -> VerbsCalls.closeDevice(context), keepNeeds());
  }

  @Override
  public String toString() {
    return "RDMA device " + name;
  }
}
