package org.metrale.gpu.nvml;

import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.function.Supplier;
import org.bytedeco.javacpp.Pointer;
import org.metrale.nvml.nvmlDevice_st;

/**
 * One GPU, or one MIG device of a GPU, as NVML sees it.
 *
 * <p>Readings are grouped by what they are about; each group is a light view that costs nothing.
 * Every reading asks NVML anew.
 *
 * <p><b>Threading:</b> safe for any number of threads. <b>Blocking:</b> each reading at most {@link
 * NvmlOptions#callTimeout()} of its session; then it is an {@link NvmlException} of code 10.
 * <b>Ownership:</b> nothing to close; usable until its session is closed, and then every reading is
 * an {@link IllegalStateException}.
 */
public final class NvmlDevice {
  private final Nvml session;
  private final long handle;

  /** The device in words, for messages. */
  private final String place;

  /** Whether the part is joined to its CPU by C2C: 0 not asked yet, 1 no, 2 yes. */
  private volatile int c2c;

  NvmlDevice(Nvml session, long handle) {
    this(session, handle, "device=0x" + Long.toHexString(handle));
  }

  NvmlDevice(Nvml session, long handle, String place) {
    this.session = session;
    this.handle = handle;
    this.place = place;
  }

  /**
   * A device whose handle came from elsewhere in this process.
   *
   * @param session an open session
   * @param handle an {@code nvmlDevice_t}, borrowed
   * @return the device
   * @throws IllegalArgumentException if the handle is null
   */
  public static NvmlDevice borrow(Nvml session, Pointer handle) {
    Objects.requireNonNull(session, "session");
    if (Pointer.isNull(handle)) {
      throw new IllegalArgumentException("the handle is null");
    }
    return new NvmlDevice(session, handle.address());
  }

  /**
   * The handle, for calls of the generated layer.
   *
   * @return the {@code nvmlDevice_t}; valid while the session is open
   */
  public nvmlDevice_st pointer() {
    return NvmlCalls.pointer(handle);
  }

  /**
   * The UUID, which names a device across reboots and in CUDA.
   *
   * @return for example {@code GPU-8932f937-d72c-4106-c12f-20bd9faed9f6}
   * @wraps {@code nvmlDeviceGetUUID}; nvml.h
   */
  public NvmlReading<String> uuid() {
    return text(NvmlTextQuery.UUID);
  }

  /**
   * What the device is.
   *
   * @return names, serial numbers, versions, places
   */
  public NvmlIdentity identity() {
    return new NvmlIdentity(this);
  }

  /**
   * Power, energy and limits.
   *
   * @return the group of readings
   */
  public NvmlPower power() {
    return new NvmlPower(this);
  }

  /**
   * Clocks, their limits, and why they are what they are.
   *
   * @return the group of readings
   */
  public NvmlClocks clocks() {
    return new NvmlClocks(this);
  }

  /**
   * Temperatures, thresholds and fans.
   *
   * @return the group of readings
   */
  public NvmlThermals thermals() {
    return new NvmlThermals(this);
  }

  /**
   * How busy the engines are.
   *
   * @return the group of readings
   */
  public NvmlUtilization utilization() {
    return new NvmlUtilization(this);
  }

  /**
   * Memory errors and repairs.
   *
   * @return the group of readings
   */
  public NvmlEcc ecc() {
    return new NvmlEcc(this);
  }

  /**
   * The PCIe link; all absent where the part is joined to its CPU by C2C.
   *
   * @return the group of readings
   */
  public NvmlPcie pcie() {
    return new NvmlPcie(this);
  }

  /**
   * The NVLinks.
   *
   * @return the group of readings
   */
  public NvmlNvLinks nvLinks() {
    return new NvmlNvLinks(this);
  }

  /**
   * Multi-instance GPU.
   *
   * @return MIG mode, MIG devices, and what a MIG device belongs to
   */
  public NvmlMig mig() {
    return new NvmlMig(this);
  }

  /**
   * How much memory there is and who says so.
   *
   * <p>Where NVML does not tell because CPU and GPU share one memory (GB10), the operating system's
   * {@code MemAvailable} is the answer, marked as such; it is shared with the host. A host that
   * cannot be asked leaves the reading absent: nothing here fails because of it.
   *
   * @return amounts in bytes with their source
   * @wraps {@code nvmlDeviceGetMemoryInfo_v2}, else {@code nvmlDeviceGetMemoryInfo}; nvml.h
   */
  public NvmlReading<NvmlMemory> memory() {
    return NvmlMemoryTruth.read(this, Optional::empty);
  }

  /**
   * Like {@link #memory()}, with CUDA asked where NVML does not tell and the memory is not known to
   * be shared with the host.
   *
   * @param cuda asks CUDA, for example by {@code cuMemGetInfo}; called only then
   * @return amounts in bytes with their source
   * @wraps {@code nvmlDeviceGetMemoryInfo_v2}, else {@code nvmlDeviceGetMemoryInfo}; nvml.h
   */
  public NvmlReading<NvmlMemory> memory(Supplier<NvmlMemory> cuda) {
    Objects.requireNonNull(cuda, "cuda");
    return NvmlMemoryTruth.read(this, () -> Optional.of(cuda.get()));
  }

  /**
   * The window through which the CPU and other devices reach the memory.
   *
   * @return amounts in bytes
   * @wraps {@code nvmlDeviceGetBAR1MemoryInfo}; nvml.h
   */
  public NvmlReading<NvmlBar1> bar1() {
    return query(NvmlQuery.BAR1, 0)
        .reading(answer -> new NvmlBar1(answer.value(0), answer.value(1), answer.value(2)));
  }

  /**
   * The processes that use this device now.
   *
   * <p><b>Blocking:</b> about 4.5 ms (measured by others on driver 610): not for fast sampling.
   *
   * @param kind which of them
   * @return the processes, with instances where the driver tells them
   * @wraps {@code nvmlDeviceGetComputeRunningProcesses_v3} and its kin, else {@code _v2}, else the
   *     first version, each with its own structure; nvml.h
   */
  public NvmlReading<List<NvmlProcess>> processes(NvmlProcessKind kind) {
    return NvmlProcess.list(this, kind);
  }

  /**
   * Many fields in one call.
   *
   * @param fields what to read; at most 1,000
   * @return one answer a field, in that order
   * @throws NvmlException if the whole call fails; what a single field refuses is its reading
   * @wraps {@code nvmlDeviceGetFieldValues}; nvml.h
   */
  public List<NvmlFieldValue> fields(List<NvmlField> fields) {
    return NvmlFieldValue.read(this, fields);
  }

  /**
   * The NVLink fabric that this device is part of.
   *
   * @return state, clique and health
   * @wraps {@code nvmlDeviceGetGpuFabricInfo_v4}, else {@code nvmlDeviceGetGpuFabricInfoV}, else
   *     {@code nvmlDeviceGetGpuFabricInfo}; nvml.h
   */
  public NvmlReading<NvmlFabric> fabric() {
    return NvmlFabric.read(this);
  }

  /**
   * Whether CPU and GPU share one address space: the page tables of both are the same (ATS), or the
   * part is joined to its CPU by C2C.
   *
   * @return true for GB10 and for the Grace parts
   */
  public boolean isUnified() {
    NvmlAnswer mode = query(NvmlQuery.ADDRESSING_MODE, 0);
    return (mode.result().code() == 0 && mode.value(0) == 2) || isChipToChip();
  }

  /** Two objects for the same handle of the same session are equal. */
  @Override
  public boolean equals(Object other) {
    return other instanceof NvmlDevice device
        && device.handle == handle
        && device.session == session;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(handle);
  }

  @Override
  public String toString() {
    return "NVML device 0x" + Long.toHexString(handle);
  }

  Nvml session() {
    return session;
  }

  long handle() {
    return handle;
  }

  /** Whether NVLink-C2C joins the part to its CPU; asked until NVML answers, then remembered. */
  boolean isChipToChip() {
    if (c2c == 0) {
      NvmlAnswer answer = query(NvmlQuery.C2C, 0);
      if (answer.result().code() == 0) {
        c2c = answer.isTrue() ? 2 : 1;
      } else if (answer.result().isAbsent()) {
        c2c = 1;
      }
    }
    return c2c == 2;
  }

  /** The device in words. */
  String place() {
    return place;
  }

  /** Makes one call about this device within the session's time. */
  <T> T call(String name, Supplier<T> work) {
    return session.call(name, place, work);
  }

  NvmlAnswer query(NvmlQuery query, int argument) {
    return call(query.call(), () -> NvmlCalls.metrale_nvml_query_one(handle, query, argument));
  }

  NvmlReading<Long> number(NvmlQuery query, int argument) {
    return query(query, argument).reading(answer -> answer.value(0));
  }

  NvmlReading<Boolean> flag(NvmlQuery query) {
    return query(query, 0).reading(NvmlAnswer::isTrue);
  }

  NvmlReading<String> text(NvmlTextQuery query) {
    return session.text(handle, place, query, 0);
  }
}
