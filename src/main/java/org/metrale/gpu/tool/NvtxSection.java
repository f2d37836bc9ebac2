package org.metrale.gpu.tool;

import java.util.LinkedHashMap;
import java.util.Map;
import org.metrale.gpu.nvtx.NvtxTool;

/** Whether a profiler listens to NVTX. */
final class NvtxSection implements DoctorSection {
  @Override
  public String name() {
    return "nvtx";
  }

  @Override
  public Map<String, Object> examine() {
    Map<String, Object> out = new LinkedHashMap<>();
    String injection = System.getenv("NVTX_INJECTION64_PATH");
    out.put("library", "headers only, compiled in");
    out.put("tool named by NVTX_INJECTION64_PATH", injection == null ? "none" : injection);
    out.put("tool attached", NvtxTool.isAttached());
    return out;
  }
}
