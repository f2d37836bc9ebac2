package org.metrale.gpu.nvml;

import com.google.errorprone.annotations.MustBeClosed;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.CallLimit;
import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaDevice;

/**
 * A session with NVML: where devices come from.
 *
 * <p>NVML counts its sessions: each one opened here is shut down exactly once, and one that could
 * not be opened never.
 *
 * <p>A driver that hangs costs a thread of this layer and not the caller's: a call that has not
 * returned within the session's times ends with an {@link NvmlException} that says so, of code 10.
 * A session with such a call can be closed all the same; the call shuts it down when it returns,
 * and other sessions go on.
 *
 * <p><b>Threading:</b> safe for any number of threads. Closing waits for calls in flight on other
 * threads, refuses while an event set, a sampler or a GPM object of this session is open, and makes
 * every later use of the session or its devices an {@link IllegalStateException}.
 */
public final class Nvml extends NativeResource {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.nvml");
  private static final long DRAIN_STEP_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

  /** Closed sessions whose shutdown waits for a call that has not returned. */
  private static final AtomicInteger OWED_SESSIONS = new AtomicInteger();

  private final NvmlOptions options;

  /** Calls inside NVML now; kept apart from what depends on this object, because it drains. */
  private final AtomicInteger callsInFlight = new AtomicInteger();

  /** Whether the last call to return has to shut NVML down. */
  private final AtomicBoolean owesShutdown = new AtomicBoolean();

  private volatile NvmlDriverVersion driver;

  private Nvml(NvmlOptions options) {
    this.options = options;
  }

  /**
   * Starts NVML with the usual times.
   *
   * @return the session, to be closed
   * @throws LibraryUnavailableException if there is no NVML library
   * @throws NvmlException if NVML does not start, with code 9 where there is no driver or no GPU
   * @wraps {@code nvmlInit_v2}; nvml.h
   */
  @MustBeClosed
  public static Nvml open() {
    return open(NvmlOptions.defaults());
  }

  /**
   * Starts NVML.
   *
   * <p><b>Blocking:</b> at most {@link NvmlOptions#sessionTimeout()}; can take seconds where no
   * other process uses the driver.
   *
   * @param options how long its calls may take
   * @return the session, to be closed
   * @throws LibraryUnavailableException if there is no NVML library
   * @throws NvmlException if NVML does not start, with code 9 where there is no driver or no GPU,
   *     or has not started in time
   * @wraps {@code nvmlInit_v2}; nvml.h
   */
  @MustBeClosed
  public static Nvml open(NvmlOptions options) {
    NvmlLibrary.require();
    NvmlCallers.within(
        options.sessionTimeout(),
        new NvmlCallers.Call("nvmlInit_v2", ""),
        () -> {
          NvmlCalls.metrale_nvml_init();
          return true;
        },
        () -> {},
        started -> NvmlCalls.metrale_nvml_shutdown());
    return new Nvml(options);
  }

  /**
   * How many calls of NVML were given up waiting for in this process and have not returned. Each
   * keeps a thread of this layer; from 16 on no more are made until one returns.
   *
   * @return their number now
   */
  public static int unfinishedCalls() {
    return NvmlCallers.late();
  }

  /**
   * How many closed sessions of this process NVML still counts, because a call of theirs has not
   * returned. Each is shut down when its last call returns.
   *
   * @return their number now
   */
  public static int unfinishedSessions() {
    return OWED_SESSIONS.get();
  }

  /**
   * How long its calls may take.
   *
   * @return the options given at opening
   */
  public NvmlOptions options() {
    return options;
  }

  /**
   * How many GPUs there are, MIG devices not counted.
   *
   * @return the number that this process may see
   * @throws NvmlException if NVML does not tell
   * @wraps {@code nvmlDeviceGetCount_v2}; nvml.h
   */
  public int deviceCount() {
    return call("nvmlDeviceGetCount_v2", "", NvmlCalls::metrale_nvml_count);
  }

  /**
   * A GPU by NVML's index, which follows the PCI address and is not CUDA's ordinal.
   *
   * @param deviceIndex from 0
   * @return the GPU
   * @throws NvmlException if there is none, it is lost, or this process may not use it
   * @wraps {@code nvmlDeviceGetHandleByIndex_v2}; nvml.h
   */
  public NvmlDevice device(int deviceIndex) {
    String place = "deviceIndex=" + deviceIndex;
    return call(
        "nvmlDeviceGetHandleByIndex_v2",
        place,
        () -> new NvmlDevice(this, NvmlCalls.metrale_nvml_device_by_index(deviceIndex), place));
  }

  /**
   * Every GPU, in NVML's order.
   *
   * @return the GPUs, without MIG devices
   * @throws NvmlException if one cannot be had
   */
  public List<NvmlDevice> devices() {
    List<NvmlDevice> out = new ArrayList<>();
    int count = deviceCount();
    for (int deviceIndex = 0; deviceIndex < count; deviceIndex++) {
      out.add(device(deviceIndex));
    }
    return List.copyOf(out);
  }

  /**
   * A GPU or a MIG device by its UUID.
   *
   * @param uuid for example {@code GPU-8932f937-d72c-4106-c12f-20bd9faed9f6}, or one that starts
   *     with {@code MIG-}
   * @return the device
   * @throws NvmlException if there is none (code 6)
   * @wraps {@code nvmlDeviceGetHandleByUUID}; nvml.h
   */
  public NvmlDevice deviceByUuid(String uuid) {
    Objects.requireNonNull(uuid, "uuid");
    String place = "uuid=" + uuid;
    return call(
        "nvmlDeviceGetHandleByUUID",
        place,
        () -> new NvmlDevice(this, NvmlCalls.metrale_nvml_device_by_uuid(uuid), place));
  }

  /**
   * A GPU by its PCI address.
   *
   * @param address for example {@code 0000:3b:00.0}; the domain may have eight digits
   * @return the GPU
   * @throws NvmlException if there is none (code 6) or the text is no address (code 2)
   * @wraps {@code nvmlDeviceGetHandleByPciBusId_v2}; nvml.h
   */
  public NvmlDevice deviceByPci(String address) {
    Objects.requireNonNull(address, "address");
    String place = "pciBusId=" + address;
    return call(
        "nvmlDeviceGetHandleByPciBusId_v2",
        place,
        () -> new NvmlDevice(this, NvmlCalls.metrale_nvml_device_by_pci(address), place));
  }

  /**
   * The device behind a CUDA ordinal, as CUDA would number devices in a process with that
   * environment.
   *
   * <p>{@code CUDA_VISIBLE_DEVICES} selects by number, by UUID or its beginning, and MIG devices by
   * their names; {@code CUDA_DEVICE_ORDER} says what the numbers count. Where CUDA orders by speed
   * and the GPUs are of several kinds NVML cannot know that order: look the device up by the UUID
   * that CUDA gives for it.
   *
   * @param cudaOrdinal CUDA's number of the device, from 0
   * @param environment the variables, for example {@link System#getenv()}
   * @return the GPU or MIG device
   * @throws IllegalArgumentException if CUDA would have no such device; the message says what it
   *     would have
   * @throws IllegalStateException if the order depends on speed
   */
  public NvmlDevice cudaDevice(int cudaOrdinal, Map<String, String> environment) {
    List<NvmlDevice> visible = cudaDevices(environment);
    if (cudaOrdinal < 0 || cudaOrdinal >= visible.size()) {
      throw new IllegalArgumentException(
          "CUDA ordinal "
              + cudaOrdinal
              + " does not exist: CUDA_VISIBLE_DEVICES="
              + environment.getOrDefault(NvmlCudaOrder.VISIBLE, "(not set)")
              + " leaves "
              + visible.size()
              + " of "
              + deviceCount()
              + " GPUs");
    }
    return visible.get(cudaOrdinal);
  }

  /**
   * The device that CUDA has under an ordinal in this process, whatever its order: found by its
   * UUID.
   *
   * @param device CUDA's device, which is a MIG device where CUDA shows one
   * @return the GPU or MIG device
   * @throws NvmlException if NVML has no such device (code 6)
   * @wraps {@code nvmlDeviceGetHandleByUUID}; nvml.h
   */
  public NvmlDevice cudaDevice(CudaDevice device) {
    try {
      return deviceByUuid("GPU-" + device.uuid());
    } catch (NvmlException e) {
      if (!e.result().equals(NvmlResult.NOT_FOUND)) {
        throw e;
      }
      return deviceByUuid("MIG-" + device.uuid());
    }
  }

  /**
   * The devices that CUDA would have in a process with that environment, in its order.
   *
   * @param environment the variables, for example {@link System#getenv()}
   * @return the devices; their positions are CUDA's ordinals
   * @throws IllegalStateException if the order depends on speed
   */
  public List<NvmlDevice> cudaDevices(Map<String, String> environment) {
    return NvmlCudaOrder.resolve(NvmlCudaOrder.candidates(this), environment);
  }

  /**
   * The kernel driver's version.
   *
   * @return for example {@code 580.95.05}
   * @throws NvmlException if NVML does not tell
   * @wraps {@code nvmlSystemGetDriverVersion}; nvml.h
   */
  public String driverVersion() {
    return driver().text();
  }

  /**
   * NVML's own version.
   *
   * @return for example {@code 13.580.95.05}
   * @wraps {@code nvmlSystemGetNVMLVersion}; nvml.h
   */
  public NvmlReading<String> nvmlVersion() {
    return text(0, "", NvmlTextQuery.NVML, 0);
  }

  /**
   * The name of a process that uses a GPU.
   *
   * @param processId its id, as in {@link NvmlProcess}
   * @return its command, denied if it belongs to somebody else
   * @wraps {@code nvmlSystemGetProcessName}; nvml.h
   */
  public NvmlReading<String> processName(long processId) {
    return text(0, "processId=" + processId, NvmlTextQuery.PROCESS, (int) processId);
  }

  /**
   * Ends the session.
   *
   * <p><b>Blocking:</b> for calls that run, {@link NvmlOptions#callTimeout()} at most, and for NVML
   * {@link NvmlOptions#sessionTimeout()}.
   *
   * @throws NvmlException if a call has not returned by then, which leaves the shutdown to it, or
   *     NVML does not end
   */
  @Override
  protected void free() {
    if (!isDrained()) {
      OWED_SESSIONS.incrementAndGet();
      owesShutdown.set(true);
      int stuck = callsInFlight.get();
      if (stuck > 0) {
        throw NvmlException.unfinished(
            "nvmlShutdown",
            "not called yet, elapsed="
                + drainTimeout()
                + ", calls that have not returned: "
                + stuck
                + "; the last of them does it");
      }
      if (!owesShutdown.compareAndSet(true, false)) {
        return; // the last call has returned just now
      }
      OWED_SESSIONS.decrementAndGet();
    }
    NvmlCallers.end(
        options.sessionTimeout(),
        new NvmlCallers.Call("nvmlShutdown", ""),
        NvmlCalls::metrale_nvml_shutdown,
        () -> {});
  }

  private boolean isDrained() {
    long limit = Backoff.nanos(drainTimeout());
    long begin = System.nanoTime();
    while (callsInFlight.get() > 0) {
      if (System.nanoTime() - begin > limit) {
        return false;
      }
      LockSupport.parkNanos(DRAIN_STEP_NANOS);
    }
    return true;
  }

  /** How long a close waits for calls that run. */
  Duration drainTimeout() {
    return CallLimit.isLimited(options.callTimeout())
        ? options.callTimeout()
        : options.sessionTimeout();
  }

  @Override
  public String toString() {
    return "NVML session";
  }

  /** Marks a call; after {@link #close()} there is none. Pair with {@link #leave()}. */
  void enter() {
    callsInFlight.getAndIncrement();
    if (isClosed()) {
      leave();
      throw new IllegalStateException(this + " is closed");
    }
  }

  void leave() {
    if (callsInFlight.decrementAndGet() == 0 && owesShutdown.get()) {
      shutDownLate();
    }
  }

  /** Makes one call within the session's time; what it writes into belongs to its thread. */
  <T> T call(String name, String place, Supplier<T> work) {
    return call(name, place, work, nothing -> {});
  }

  /**
   * The same.
   *
   * @param late takes what was made when nobody waits for it any more
   */
  <T> T call(String name, String place, Supplier<T> work, Consumer<? super T> late) {
    return call(options.callTimeout(), new NvmlCallers.Call(name, place), work, () -> {}, late);
  }

  /**
   * The same within a time of its own.
   *
   * @param after runs when the call has returned, or if it is not made
   */
  <T> T call(
      Duration limit,
      NvmlCallers.Call call,
      Supplier<T> work,
      Runnable after,
      Consumer<? super T> late) {
    boolean entered = false;
    try {
      enter();
      entered = true;
    } finally {
      if (!entered) {
        after.run();
      }
    }
    return NvmlCallers.within(
        limit,
        call,
        work,
        () -> {
          after.run();
          leave();
        },
        late);
  }

  /** Makes a call that ends something, in this thread where no other is to be had. */
  void end(String name, String place, Runnable work) {
    enter();
    NvmlCallers.end(options.callTimeout(), new NvmlCallers.Call(name, place), work, this::leave);
  }

  /** By the last call of a closed session, in a thread of its own: it may hang too. */
  private void shutDownLate() {
    if (!owesShutdown.compareAndSet(true, false)) {
      return;
    }
    BoundedCall.run(
        () -> {
          try {
            NvmlCalls.metrale_nvml_shutdown();
          } catch (NvmlException e) {
            LOG.log(Level.WARNING, "a session whose calls came back late did not end", e);
          } finally {
            OWED_SESSIONS.decrementAndGet();
          }
        });
  }

  NvmlDriverVersion driver() {
    NvmlDriverVersion known = driver;
    if (known == null) {
      NvmlReading<String> answer = text(0, "", NvmlTextQuery.DRIVER, 0);
      if (answer.toOptional().isEmpty()) {
        throw NvmlCalls.failure("nvmlSystemGetDriverVersion", answer.result(), "");
      }
      known = NvmlDriverVersion.parse(answer.orElseThrow());
      driver = known;
    }
    return known;
  }

  NvmlReading<String> text(long handle, String place, NvmlTextQuery query, int argument) {
    return call(query.call(), place, () -> NvmlCalls.metrale_nvml_text(handle, query, argument));
  }
}
