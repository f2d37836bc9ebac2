package org.metrale.gpu.verbs;

import java.lang.System.Logger.Level;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.metrale.global.verbs;
import org.metrale.verbs.ibv_context;
import org.metrale.verbs.ibv_device;
import org.metrale.verbs.metrale_ibv_device;
import org.metrale.verbs.metrale_ibv_device_attr;
import org.metrale.verbs.metrale_ibv_gid_entry;
import org.metrale.verbs.metrale_ibv_port;

/** The calls of {@code metrale_ibv.h}: codes checked, structures turned into values. */
@SuppressWarnings("try") // a scope is there for what is allocated in it
final class VerbsCalls {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.verbs");
  private static final int TEXT_BYTES = 128;

  private VerbsCalls() {}

  /** The names of the devices present now. */
  static List<String> deviceNames() {
    long[] list = new long[1];
    int count = check("ibv_get_device_list", verbs.metrale_ibv_get_device_list(list), "");
    try (PointerScope scope = new PointerScope()) {
      List<String> names = new ArrayList<>(count);
      metrale_ibv_device description = new metrale_ibv_device();
      for (int i = 0; i < count; i++) {
        names.add(describe(deviceAt(list[0], i), description));
      }
      return names;
    } finally {
      verbs.metrale_ibv_free_device_list(list[0]);
    }
  }

  /** Opens the device of that name. */
  static ibv_context openDevice(String name) {
    long[] list = new long[1];
    int count = check("ibv_get_device_list", verbs.metrale_ibv_get_device_list(list), "");
    try (PointerScope scope = new PointerScope()) {
      List<String> names = new ArrayList<>(count);
      metrale_ibv_device description = new metrale_ibv_device();
      for (int i = 0; i < count; i++) {
        ibv_device device = deviceAt(list[0], i);
        names.add(describe(device, description));
        if (names.get(i).equals(name)) {
          ibv_context context = new ibv_context(null);
          check(
              "ibv_open_device", verbs.metrale_ibv_open_device(device, context), "device=" + name);
          return context;
        }
      }
      throw new IllegalArgumentException(
          "no RDMA device is called " + name + "; there are " + names);
    } finally {
      verbs.metrale_ibv_free_device_list(list[0]);
    }
  }

  static void closeDevice(ibv_context context) {
    check("ibv_close_device", verbs.metrale_ibv_close_device(context), "");
  }

  static String firmwareVersion(ibv_context context) {
    try (PointerScope scope = new PointerScope()) {
      metrale_ibv_device_attr attributes = new metrale_ibv_device_attr();
      check("ibv_query_device", verbs.metrale_ibv_query_device(context, attributes), "");
      return attributes.fw_ver().getString(StandardCharsets.UTF_8);
    }
  }

  static int vendor(ibv_context context) {
    try (PointerScope scope = new PointerScope()) {
      metrale_ibv_device_attr attributes = new metrale_ibv_device_attr();
      check("ibv_query_device", verbs.metrale_ibv_query_device(context, attributes), "");
      return attributes.vendor_id();
    }
  }

  static VerbsLimits limits(ibv_context context) {
    try (PointerScope scope = new PointerScope()) {
      metrale_ibv_device_attr found = new metrale_ibv_device_attr();
      check("ibv_query_device", verbs.metrale_ibv_query_device(context, found), "");
      return new VerbsLimits(
          found.max_qp(),
          found.max_qp_wr(),
          found.max_cq(),
          found.max_cqe(),
          found.max_mr(),
          found.max_mr_bytes() < 0 ? Long.MAX_VALUE : found.max_mr_bytes(),
          found.max_pd(),
          found.max_qp_rd_atomic(),
          found.max_qp_init_rd_atomic(),
          found.port_count(),
          found.max_srq(),
          found.max_srq_wr());
    }
  }

  static VerbsPort readPort(ibv_context context, int portNumber) {
    try (PointerScope scope = new PointerScope()) {
      return port(context, portNumber);
    }
  }

  /** Every port with the entries of its GID table that are not empty. */
  static List<VerbsPort> ports(ibv_context context) {
    try (PointerScope scope = new PointerScope()) {
      metrale_ibv_device_attr attributes = new metrale_ibv_device_attr();
      check("ibv_query_device", verbs.metrale_ibv_query_device(context, attributes), "");
      List<VerbsPort> ports = new ArrayList<>();
      for (int portNumber = 1; portNumber <= attributes.port_count(); portNumber++) {
        ports.add(port(context, portNumber));
      }
      return ports;
    }
  }

  private static VerbsPort port(ibv_context context, int portNumber) {
    metrale_ibv_port port = new metrale_ibv_port();
    check(
        "ibv_query_port",
        verbs.metrale_ibv_query_port(context, portNumber, port),
        "port=" + portNumber);
    List<VerbsGidEntry> table = gidTable(context, portNumber, port.gid_table_length());
    return new VerbsPort(
        portNumber,
        text(out -> verbs.metrale_ibv_port_state_str(port.state(), out, TEXT_BYTES)),
        port.state() == verbs.METRALE_IBV_PORT_ACTIVE,
        linkLayer(port.link_layer()),
        mtuBytes(port.active_mtu()),
        Integer.toUnsignedLong(port.max_msg_bytes()),
        port.lid(),
        table);
  }

  /**
   * The entries that are not empty. One that cannot be read is left out, since the others are as
   * good as they were; if none can, the first reason is told.
   */
  private static List<VerbsGidEntry> gidTable(ibv_context context, int portNumber, int length) {
    List<VerbsGidEntry> table = new ArrayList<>();
    VerbsException unreadable = null;
    metrale_ibv_gid_entry entry = new metrale_ibv_gid_entry();
    boolean tellsTypes = VerbsLibrary.supports("_ibv_query_gid_ex");
    for (int gidIndex = 0; gidIndex < length; gidIndex++) {
      int code = queryGid(context, portNumber, gidIndex, tellsTypes, entry);
      if (code == 0) {
        table.add(entry(entry));
      } else if (-code != verbs.metrale_ibv_errno(verbs.METRALE_IBV_ENODATA)) {
        VerbsException failure =
            failure("ibv_query_gid", code, "port=" + portNumber + " gidIndex=" + gidIndex);
        LOG.log(Level.DEBUG, "an address is left out", failure);
        unreadable = unreadable == null ? failure : unreadable;
      }
    }
    if (table.isEmpty() && unreadable != null) {
      throw unreadable;
    }
    return table;
  }

  /** The codes are powers of two from 256; others are of a library that is newer than this. */
  static int mtuBytes(int code) {
    return code >= verbs.METRALE_IBV_MTU_256 && code <= verbs.METRALE_IBV_MTU_4096
        ? 128 << code
        : 0;
  }

  /** By the call that tells an address's type; older libraries leave that to the kernel's files. */
  private static int queryGid(
      ibv_context context,
      int portNumber,
      int gidIndex,
      boolean tellsTypes,
      metrale_ibv_gid_entry entry) {
    return tellsTypes
        ? verbs.metrale_ibv_query_gid_ex(context, portNumber, gidIndex, entry)
        : verbs.metrale_ibv_query_gid(context, portNumber, gidIndex, entry);
  }

  private static VerbsGidEntry entry(metrale_ibv_gid_entry entry) {
    byte[] gid = new byte[VerbsGid.BYTES];
    for (int i = 0; i < gid.length; i++) {
      gid[i] = entry.gid(i);
    }
    return new VerbsGidEntry(
        entry.gid_index(),
        new VerbsGidType(entry.gid_type()),
        VerbsGid.of(gid),
        netDevice(entry.ndev_ifindex()));
  }

  private static String netDevice(int interfaceIndex) {
    try {
      NetworkInterface found =
          interfaceIndex == 0 ? null : NetworkInterface.getByIndex(interfaceIndex);
      return found == null ? "" : found.getName();
    } catch (SocketException e) {
      return "";
    }
  }

  private static String linkLayer(int code) {
    return switch (code) {
      case 0 -> "unspecified";
      case 1 -> "InfiniBand";
      case 2 -> "Ethernet";
      default -> "link layer " + code;
    };
  }

  private static ibv_device deviceAt(long list, int position) {
    ibv_device device = new ibv_device(null);
    check("ibv_get_device_list", verbs.metrale_ibv_device_at(list, position, device), "");
    return device;
  }

  private static String describe(ibv_device device, metrale_ibv_device description) {
    check("ibv_get_device_name", verbs.metrale_ibv_describe_device(device, description), "");
    return description.name().getString(StandardCharsets.UTF_8);
  }

  /** Throws for a negative result, which is a negated errno. */
  static int check(String call, int result, String detail) {
    if (result >= 0) {
      return result;
    }
    throw failure(call, result, detail);
  }

  private static VerbsException failure(String call, int result, String detail) {
    int errno = -result;
    return new VerbsException(
        call,
        errno,
        text(out -> verbs.metrale_ibv_errno_symbol(errno, out, TEXT_BYTES)),
        text(out -> verbs.metrale_ibv_errno_str(errno, out, TEXT_BYTES)),
        detail);
  }

  static VerbsException unfinished(String call, String detail) {
    int errno = verbs.metrale_ibv_errno(verbs.METRALE_IBV_ETIMEDOUT);
    return VerbsException.unfinished(
        call, errno, text(out -> verbs.metrale_ibv_errno_symbol(errno, out, TEXT_BYTES)), detail);
  }

  static String text(TextCall call) {
    byte[] out = new byte[TEXT_BYTES];
    call.write(out);
    int end = 0;
    while (end < out.length && out[end] != 0) {
      end++;
    }
    return new String(out, 0, end, StandardCharsets.UTF_8);
  }

  /** A shim call that writes a text ended by zero. */
  interface TextCall {
    int write(byte[] out);
  }
}
