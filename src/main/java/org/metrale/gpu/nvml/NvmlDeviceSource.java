package org.metrale.gpu.nvml;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** Samples a device: all that is not slow by one crossing into native code, without allocating. */
final class NvmlDeviceSource implements NvmlSampleSource {
  private final NvmlDevice device;
  private final NvmlScratch plan;
  private final NvmlScratch answers;
  private final int countSteps;

  /** By metric: where its code and its value stand among the answers; -1 for slow ones. */
  private final int[] codeAt = new int[NvmlMetric.count()];

  private final int[] valueAt = new int[NvmlMetric.count()];

  NvmlDeviceSource(NvmlDevice device) {
    this.device = device;
    List<Long> steps = new ArrayList<>();
    for (int i = 0; i < NvmlMetric.count(); i++) {
      NvmlMetric metric = NvmlMetric.at(i);
      codeAt[i] = -1;
      if (!metric.isSlow()) {
        long step = (long) metric.argument() << Integer.SIZE | metric.query().number();
        if (!steps.contains(step)) {
          steps.add(step);
        }
        codeAt[i] = steps.indexOf(step) * NvmlAnswer.BYTES + NvmlAnswer.CODE_OFFSET;
        valueAt[i] =
            steps.indexOf(step) * NvmlAnswer.BYTES
                + NvmlAnswer.VALUES_OFFSET
                + metric.position() * Long.BYTES;
      }
    }
    countSteps = steps.size();
    plan = new NvmlScratch(countSteps * NvmlCalls.STEP_BYTES);
    answers = new NvmlScratch(countSteps * NvmlAnswer.BYTES);
    for (int i = 0; i < countSteps; i++) {
      plan.bytes().putInt(i * NvmlCalls.STEP_BYTES, steps.get(i).intValue());
      plan.bytes()
          .putInt(i * NvmlCalls.STEP_BYTES + Integer.BYTES, (int) (steps.get(i) >> Integer.SIZE));
    }
  }

  @Override
  public void sample(NvmlSample into) {
    device.session().enter();
    try {
      NvmlCalls.metrale_nvml_sample(device.handle(), plan.address(), countSteps, answers.address());
    } finally {
      device.session().leave();
    }
    ByteBuffer bytes = answers.bytes();
    for (int i = 0; i < codeAt.length; i++) {
      if (codeAt[i] >= 0) {
        into.put(NvmlMetric.at(i), bytes.getInt(codeAt[i]), bytes.getLong(valueAt[i]));
      }
    }
    NvmlMetric reserved = NvmlMetric.MEMORY_RESERVED_BYTES;
    if (into.has(reserved) && into.value(reserved) < 0) {
      // The first version of the call, which counts it as used.
      into.put(reserved, NvmlResult.FUNCTION_NOT_FOUND.code(), 0);
    }
  }

  @Override
  public void sampleSlow(NvmlSample into) {
    NvmlPcie pcie = device.pcie();
    boolean answers =
        put(into, NvmlMetric.PCIE_SENT_KILOBYTES_PER_SECOND, pcie::sentKilobytesPerSecond, true);
    answers =
        put(
            into,
            NvmlMetric.PCIE_RECEIVED_KILOBYTES_PER_SECOND,
            pcie::receivedKilobytesPerSecond,
            answers);
    answers =
        put(
            into,
            NvmlMetric.ACTIVE_NVLINKS,
            () -> device.nvLinks().count().map(NvmlLinkCount::active),
            answers);
    answers =
        put(
            into,
            NvmlMetric.COMPUTE_PROCESSES,
            () -> device.processes(NvmlProcessKind.COMPUTE).map(list -> (long) list.size()),
            answers);
    if (answers) {
      hostMemory(into);
    }
  }

  private void hostMemory(NvmlSample into) {
    NvmlReading<NvmlMemory> memory;
    try {
      memory = device.memory();
    } catch (NvmlException e) {
      return; // the fast sample says it
    }
    boolean ofNvml =
        memory.toOptional().map(m -> m.source() == NvmlMemorySource.NVML).orElse(false);
    if (!ofNvml) {
      put(into, NvmlMetric.MEMORY_TOTAL_BYTES, memory.map(NvmlMemory::totalBytes));
      put(into, NvmlMetric.MEMORY_FREE_BYTES, memory.map(NvmlMemory::freeBytes));
      put(into, NvmlMetric.MEMORY_USED_BYTES, memory.map(NvmlMemory::usedBytes));
    }
  }

  /**
   * Reads one metric. A device that has not answered in time is not asked again in this sample.
   *
   * @param answers false if it has not
   * @return whether it has by now
   */
  private static boolean put(
      NvmlSample into, NvmlMetric metric, Supplier<NvmlReading<Long>> reading, boolean answers) {
    if (answers) {
      try {
        put(into, metric, reading.get());
        return true;
      } catch (NvmlException e) {
        into.put(metric, e.code(), 0);
        return !e.isUnfinished();
      }
    }
    into.put(metric, NvmlResult.TIMEOUT.code(), 0);
    return false;
  }

  private static void put(NvmlSample into, NvmlMetric metric, NvmlReading<Long> reading) {
    into.put(metric, reading.result().code(), reading.orElse(0L));
  }
}
