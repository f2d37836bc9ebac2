package org.metrale.gpu.tool;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.metrale.gpu.NativeCallException;
import org.metrale.gpu.verbs.VerbsDevice;
import org.metrale.gpu.verbs.VerbsPort;

/** RDMA devices with their ports and the address that a connection would use. */
final class VerbsFacts {
  /** Less than the whole section has, so that it is said which device does not answer. */
  private static final Duration CALL_LIMIT = Duration.ofSeconds(3);

  private VerbsFacts() {}

  static void examine(Map<String, Object> out) {
    List<String> names = VerbsDevice.list(CALL_LIMIT);
    List<Map<String, Object>> devices = new ArrayList<>();
    boolean active = false;
    for (String name : names) {
      Map<String, Object> device = new LinkedHashMap<>();
      device.put("device", name);
      try (VerbsDevice open = VerbsDevice.open(name, CALL_LIMIT)) {
        device.put("firmware", open.firmwareVersion());
        List<Map<String, Object>> ports = new ArrayList<>();
        for (VerbsPort port : open.ports()) {
          ports.add(port(port));
          active |= port.isActive();
        }
        device.put("ports", ports);
      } catch (NativeCallException e) {
        device.put("error", e.getMessage());
      }
      devices.add(device);
    }
    out.put("devices", devices);
    if (names.isEmpty()) {
      out.put(LibrarySection.PROBLEM, "no RDMA device");
    } else if (!active) {
      out.put(LibrarySection.PROBLEM, "no RDMA port is active");
    }
  }

  private static Map<String, Object> port(VerbsPort port) {
    Map<String, Object> out = new LinkedHashMap<>();
    out.put("port", port.portNumber());
    out.put("state", port.state());
    out.put("link layer", port.linkLayer());
    out.put("active MTU bytes", port.activeMtuBytes());
    out.put("gid table", port.gidTable().stream().map(Object::toString).toList());
    out.put(
        "gid chosen",
        port.gidChoice()
            .map(choice -> choice.entry() + ": " + choice.reason())
            .orElse("none: the table is empty"));
    return out;
  }
}
