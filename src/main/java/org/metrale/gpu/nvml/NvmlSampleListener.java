package org.metrale.gpu.nvml;

/** Is told of every sample. */
@FunctionalInterface
public interface NvmlSampleListener {
  /**
   * Takes note of a sample, on the sampler's thread: what it does delays the next one.
   *
   * @param sample the sample; borrowed, it changes after this call
   */
  void sampled(NvmlSample sample);
}
