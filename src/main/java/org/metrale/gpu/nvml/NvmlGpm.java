package org.metrale.gpu.nvml;

import com.google.errorprone.annotations.MustBeClosed;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.metrale.gpu.NativeResource;

/**
 * GPU performance monitoring: how busy the parts of a GPU or of a GPU instance were between two
 * moments. Needs Hopper or later.
 *
 * <p><b>Threading:</b> one caller at a time; others wait.
 */
public final class NvmlGpm extends NativeResource {
  /** Layout of {@code struct metrale_nvml_gpm_metric}. */
  private static final int BYTES = 16;

  private static final int CODE_OFFSET = 4;
  private static final int VALUE_OFFSET = 8;
  private static final int MOST = 333;
  private static final int WHOLE = -1;

  private final NvmlDevice gpu;
  private final int gpuInstance;
  private final NvmlScratch metrics = new NvmlScratch(MOST * BYTES);
  private long earlier;
  private long later;
  private boolean started;

  /** Whether a call uses the samples; one that is late still does. */
  private final AtomicBoolean busy = new AtomicBoolean();

  private NvmlGpm(NvmlDevice gpu, int gpuInstance, long earlier, long later) {
    super(gpu.session());
    this.gpu = gpu;
    this.gpuInstance = gpuInstance;
    this.earlier = earlier;
    this.later = later;
  }

  /**
   * Whether a device can be monitored.
   *
   * @param device the device
   * @return true if it can; absent on drivers before 520
   * @wraps {@code nvmlGpmQueryDeviceSupport}; nvml.h
   */
  public static NvmlReading<Boolean> isSupported(NvmlDevice device) {
    return device.flag(NvmlQuery.GPM_SUPPORT);
  }

  /**
   * Begins to monitor a GPU or, through its GPU, the GPU instance of a MIG device.
   *
   * @param device the device
   * @return the monitor, to be closed before the session
   * @throws NvmlException if memory for samples cannot be had, or the driver has no such thing
   *     (code 13)
   * @wraps {@code nvmlGpmSampleAlloc}; nvml.h
   */
  @MustBeClosed
  public static NvmlGpm open(NvmlDevice device) {
    NvmlDevice gpu = device.mig().parent().orElse(device);
    int instance =
        gpu.equals(device) ? WHOLE : device.mig().gpuInstanceId().orElseThrow().intValue();
    return gpu.session()
        .call("nvmlGpmSampleAlloc", gpu.place(), () -> made(gpu, instance), NvmlGpm::close);
  }

  private static NvmlGpm made(NvmlDevice gpu, int instance) {
    long earlier = NvmlCalls.metrale_nvml_gpm_create();
    long later;
    try {
      later = NvmlCalls.metrale_nvml_gpm_create();
    } catch (NvmlException e) {
      freeAfter(e, earlier);
      throw e;
    }
    try {
      return new NvmlGpm(gpu, instance, earlier, later);
    } catch (IllegalStateException e) {
      // The session was closed meanwhile; its shutdown waits for this call.
      freeAfter(e, later);
      freeAfter(e, earlier);
      throw e;
    }
  }

  /**
   * What happened since the last call; the first call only begins.
   *
   * @param wanted which metrics, at most 333; fewer take less time
   * @return a reading for each, in that order; at the first call all of them are absent
   * @throws NvmlException if the device cannot be monitored (code 3), is lost (code 15), the call
   *     fails otherwise, or it or the one before has not returned in time
   * @throws IllegalStateException if this monitor is closed
   * @wraps {@code nvmlGpmSampleGet} or {@code nvmlGpmMigSampleGet}, and {@code nvmlGpmMetricsGet};
   *     nvml.h
   */
  public synchronized Map<NvmlGpmMetric, NvmlReading<Double>> take(List<NvmlGpmMetric> wanted) {
    if (wanted.isEmpty() || wanted.size() > MOST) {
      throw new IllegalArgumentException(wanted.size() + " metrics, expected 1 to " + MOST);
    }
    List<NvmlGpmMetric> asked = List.copyOf(wanted); // also while the call is late
    if (!busy.compareAndSet(false, true)) {
      throw NvmlException.unfinished(
          "nvmlGpmSampleGet", gpu.place() + " not called: the last call has not returned");
    }
    boolean acquired = false;
    try {
      acquire();
      acquired = true;
    } finally {
      busy.set(acquired);
    }
    return gpu.session()
        .call(
            gpu.session().options().callTimeout(),
            new NvmlCallers.Call("nvmlGpmSampleGet", gpu.place()),
            () -> taken(asked),
            () -> {
              release();
              busy.set(false);
            },
            late -> {});
  }

  /** By one thread at a time, which {@link #busy} makes sure of. */
  private Map<NvmlGpmMetric, NvmlReading<Double>> taken(List<NvmlGpmMetric> wanted) {
    NvmlCalls.metrale_nvml_gpm_take(gpu.handle(), gpuInstance, later);
    boolean hasBoth = started;
    started = true;
    for (int i = 0; i < wanted.size(); i++) {
      metrics.bytes().putInt(i * BYTES, wanted.get(i).id());
      metrics.bytes().putInt(i * BYTES + CODE_OFFSET, NvmlResult.NOT_SUPPORTED.code());
    }
    if (hasBoth) {
      NvmlCalls.metrale_nvml_gpm_metrics(earlier, later, metrics, wanted.size());
    }
    long swap = earlier;
    earlier = later;
    later = swap;
    return readings(wanted);
  }

  @Override
  protected void free() {
    gpu.session()
        .end(
            "nvmlGpmSampleFree",
            gpu.place(),
            () -> {
              try {
                NvmlCalls.metrale_nvml_gpm_free(later);
              } finally {
                NvmlCalls.metrale_nvml_gpm_free(earlier);
              }
            });
  }

  @Override
  public String toString() {
    return "GPM of " + gpu;
  }

  private Map<NvmlGpmMetric, NvmlReading<Double>> readings(List<NvmlGpmMetric> wanted) {
    Map<NvmlGpmMetric, NvmlReading<Double>> out = new LinkedHashMap<>();
    for (int i = 0; i < wanted.size(); i++) {
      NvmlResult result = new NvmlResult(metrics.bytes().getInt(i * BYTES + CODE_OFFSET));
      double value = metrics.bytes().getDouble(i * BYTES + VALUE_OFFSET);
      out.put(wanted.get(i), NvmlReading.of(result, () -> value));
    }
    return out;
  }

  private static void freeAfter(RuntimeException failure, long sample) {
    try {
      NvmlCalls.metrale_nvml_gpm_free(sample);
    } catch (NvmlException second) {
      failure.addSuppressed(second);
    }
  }
}
