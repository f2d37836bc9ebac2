/**
 * NCCL, CUDA, NVML, cuFile, RDMA verbs and NVTX for the JVM: checked packages under {@code
 * org.metrale.gpu}, generated bindings under the others.
 */
module org.metrale.gpu {
  requires jdk.jfr;
  requires static com.google.errorprone.annotations;
  requires transitive org.bytedeco.cuda;
  requires transitive org.bytedeco.javacpp;

  exports org.metrale.cuda;
  exports org.metrale.cufile;
  exports org.metrale.global;
  exports org.metrale.gpu.cuda;
  exports org.metrale.gpu.cufile;
  exports org.metrale.gpu.env;
  exports org.metrale.gpu.nccl;
  exports org.metrale.gpu.nvml;
  exports org.metrale.gpu.nvtx;
  exports org.metrale.gpu.rail;
  exports org.metrale.gpu.tool;
  exports org.metrale.gpu.verbs;
  exports org.metrale.gpu.wire;
  exports org.metrale.gpu;
  exports org.metrale.nccl;
  exports org.metrale.nvml;
  exports org.metrale.nvtx;
  exports org.metrale.presets;
  exports org.metrale.verbs;

  // JavaCPP's loader instantiates recipes by reflection.
  opens org.metrale.presets to
      org.bytedeco.javacpp;
}
