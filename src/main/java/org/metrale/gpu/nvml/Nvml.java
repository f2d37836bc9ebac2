package org.metrale.gpu.nvml;

import com.google.errorprone.annotations.MustBeClosed;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaDevice;

/**
 * A session with NVML: where devices come from.
 *
 * <p>NVML counts its sessions: each one opened here is shut down exactly once, and one that could
 * not be opened never.
 *
 * <p><b>Threading:</b> safe for any number of threads. Closing waits for calls in flight on other
 * threads, refuses while an event set, a sampler or a GPM object of this session is open, and makes
 * every later use of the session or its devices an {@link IllegalStateException}.
 */
public final class Nvml extends NativeResource {
  private static final long DRAIN_NANOS = TimeUnit.SECONDS.toNanos(30);
  private static final long DRAIN_STEP_NANOS = TimeUnit.MICROSECONDS.toNanos(50);

  /** Calls inside NVML now; kept apart from what depends on this object, because it drains. */
  private final AtomicInteger callsInFlight = new AtomicInteger();

  private volatile NvmlDriverVersion driver;

  private Nvml() {}

  /**
   * Starts NVML.
   *
   * <p><b>Blocking:</b> can take seconds where no other process uses the driver.
   *
   * @return the session, to be closed
   * @throws LibraryUnavailableException if there is no NVML library
   * @throws NvmlException if NVML does not start, with code 9 where there is no driver or no GPU
   * @wraps {@code nvmlInit_v2}; nvml.h
   */
  @MustBeClosed
  public static Nvml open() {
    NvmlLibrary.require();
    NvmlCalls.metrale_nvml_init();
    return new Nvml();
  }

  /**
   * How many GPUs there are, MIG devices not counted.
   *
   * @return the number that this process may see
   * @throws NvmlException if NVML does not tell
   * @wraps {@code nvmlDeviceGetCount_v2}; nvml.h
   */
  public int deviceCount() {
    enter();
    try {
      return NvmlCalls.metrale_nvml_count();
    } finally {
      leave();
    }
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
    enter();
    try {
      return new NvmlDevice(this, NvmlCalls.metrale_nvml_device_by_index(deviceIndex));
    } finally {
      leave();
    }
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
    enter();
    try {
      return new NvmlDevice(this, NvmlCalls.metrale_nvml_device_by_uuid(uuid));
    } finally {
      leave();
    }
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
    enter();
    try {
      return new NvmlDevice(this, NvmlCalls.metrale_nvml_device_by_pci(address));
    } finally {
      leave();
    }
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
    return text(0, NvmlTextQuery.NVML, 0);
  }

  /**
   * The name of a process that uses a GPU.
   *
   * @param processId its id, as in {@link NvmlProcess}
   * @return its command, denied if it belongs to somebody else
   * @wraps {@code nvmlSystemGetProcessName}; nvml.h
   */
  public NvmlReading<String> processName(long processId) {
    return text(0, NvmlTextQuery.PROCESS, (int) processId);
  }

  @Override
  protected void free() {
    long deadline = System.nanoTime() + DRAIN_NANOS;
    while (callsInFlight.get() > 0) {
      if (System.nanoTime() - deadline > 0) {
        throw NvmlCalls.failure(
            "nvmlShutdown",
            NvmlResult.TIMEOUT,
            "not called: " + callsInFlight.get() + " calls of NVML did not return in 30 s");
      }
      LockSupport.parkNanos(DRAIN_STEP_NANOS);
    }
    NvmlCalls.metrale_nvml_shutdown();
  }

  @Override
  public String toString() {
    return "NVML session";
  }

  /** Marks a call; after {@link #close()} there is none. Pair with {@link #leave()}. */
  void enter() {
    callsInFlight.getAndIncrement();
    if (isClosed()) {
      callsInFlight.getAndDecrement();
      throw new IllegalStateException(this + " is closed");
    }
  }

  void leave() {
    callsInFlight.getAndDecrement();
  }

  NvmlDriverVersion driver() {
    NvmlDriverVersion known = driver;
    if (known == null) {
      NvmlReading<String> answer = text(0, NvmlTextQuery.DRIVER, 0);
      if (answer.toOptional().isEmpty()) {
        throw NvmlCalls.failure("nvmlSystemGetDriverVersion", answer.result(), "");
      }
      known = NvmlDriverVersion.parse(answer.orElseThrow());
      driver = known;
    }
    return known;
  }

  NvmlReading<String> text(long handle, NvmlTextQuery query, int argument) {
    enter();
    try {
      return NvmlCalls.metrale_nvml_text(handle, query, argument);
    } finally {
      leave();
    }
  }
}
