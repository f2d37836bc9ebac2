package org.metrale.gpu.nvml;

/**
 * Where samples come from: a device, or a script in a test.
 *
 * <p><b>Threading:</b> each method is called by one thread; the two by different ones.
 */
public interface NvmlSampleSource {
  /**
   * Reads the metrics that are not slow; allocates nothing if the sampler is to allocate nothing.
   *
   * @param into receives a code, and a value if it is 0, for each of them
   */
  void sample(NvmlSample into);

  /**
   * Reads the slow metrics; may also give memory metrics that come from the host.
   *
   * @param into receives a code, and a value if it is 0, for each of them
   */
  void sampleSlow(NvmlSample into);
}
