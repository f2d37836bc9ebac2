/**
 * NCCL, CUDA, NVML, cuFile, RDMA verbs and NVTX for the JVM: checked packages under {@code
 * org.metrale.gpu}, generated bindings under the others.
 */
module org.metrale.gpu {
  requires transitive org.bytedeco.javacpp;
  requires transitive org.bytedeco.cuda;
  requires static com.google.errorprone.annotations;

  exports org.metrale.cuda;
  exports org.metrale.cufile;
  exports org.metrale.global;
  exports org.metrale.gpu;
  exports org.metrale.gpu.env;
  exports org.metrale.gpu.rail;
  exports org.metrale.gpu.tool;
  exports org.metrale.gpu.verbs;
  exports org.metrale.gpu.wire;
  exports org.metrale.nccl;
  exports org.metrale.nvml;
  exports org.metrale.nvtx;
  exports org.metrale.presets;
  exports org.metrale.verbs;

  // JavaCPP's loader instantiates recipes by reflection.
  opens org.metrale.presets to
      org.bytedeco.javacpp;
}
