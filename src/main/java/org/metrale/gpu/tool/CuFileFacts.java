package org.metrale.gpu.tool;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.metrale.gpu.cufile.CuFileDriver;
import org.metrale.gpu.cufile.GdsStatus;

/** The state of cuFile's driver, and why GPUDirect Storage is or is not used here. */
final class CuFileFacts {
  private CuFileFacts() {}

  static void examine(Map<String, Object> out) {
    try (CuFileDriver driver = CuFileDriver.open()) {
      GdsStatus status = driver.status(Path.of("").toAbsolutePath());
      Map<String, Object> gds = new LinkedHashMap<>();
      gds.put("driver", status.driver());
      gds.put("way of device memory", status.route().toString());
      gds.put(
          "nvidia-fs module loaded",
          status.isEmulated() && status.p2pDma().isEmpty()
              ? "unknown: the machine is emulated"
              : status.nvidiaFsLoaded());
      gds.put("kernel peer-to-peer DMA", told(status.p2pDma()));
      gds.put("compatibility mode allowed", told(status.compatAllowed()));
      gds.put(
          "configuration file",
          status.configuration().isEmpty()
              ? "none: the library's defaults"
              : status.configuration());
      gds.put("file system of the working folder", status.fileSystem());
      gds.put("direct alignment bytes", status.directAlignmentBytes());
      gds.put("what keeps it off", status.reasons());
      out.put("GPUDirect Storage", gds);
      driver
          .unavailabilityCause()
          .ifPresent(cause -> out.put(LibrarySection.PROBLEM, cause.getMessage()));
    }
  }

  private static Object told(java.util.Optional<Boolean> answer) {
    return answer.isPresent() ? answer.get() : "unknown: the driver is not open";
  }
}
