package org.metrale.tools;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.nvml.Nvml;
import org.metrale.gpu.nvml.NvmlException;

/**
 * All GPUs at one time.
 *
 * @param problems GPUs that could not be had at all, in words
 */
record TopSample(
    Instant time, boolean emulated, String driver, List<TopDevice> devices, List<String> problems) {
  static TopSample read(Nvml session) {
    List<TopDevice> devices = new ArrayList<>();
    List<String> problems = new ArrayList<>();
    int count = session.deviceCount();
    for (int deviceIndex = 0; deviceIndex < count; deviceIndex++) {
      try {
        devices.addAll(TopDevice.read(session, deviceIndex));
      } catch (NvmlException e) {
        problems.add("GPU " + deviceIndex + ": " + e.getMessage());
      }
    }
    return new TopSample(
        Instant.now().truncatedTo(ChronoUnit.MILLIS),
        NativeLibrary.NVML.isEmulated(),
        session.driverVersion(),
        devices,
        problems);
  }

  String toJson() {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("time", time.toString());
    out.put("emulated", emulated);
    out.put("driver", driver);
    out.put("devices", devices.stream().map(TopDevice::toJson).toList());
    out.put("problems", problems);
    return Json.write(out);
  }
}
