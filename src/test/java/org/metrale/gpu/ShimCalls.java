package org.metrale.gpu;

import java.nio.ByteBuffer;
import java.nio.LongBuffer;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.metrale.verbs.metrale_ibv_async_event;
import org.metrale.verbs.metrale_ibv_qp_attr;
import org.metrale.verbs.metrale_ibv_qp_init;

/**
 * Which function of the verbs shim calls which function of libibverbs first, and with what: the
 * shim refuses nulls without asking the library.
 */
final class ShimCalls {
  /** The one that needs a device with functions of its own to be reached; a test in C proves it. */
  static final String ELSEWHERE = "ibv_query_gid";

  private static final long BLOCK_BYTES = 1 << 12;
  private static final int RELAXED_ORDERING = 1 << 20;
  private static final int RELIABLE_CONNECTION = 2;
  private static final int PORT_ERROR = 10;

  /** What a handle points at: a zero device, whose address also stands first in everything else. */
  private static final BytePointer DEVICE = new BytePointer(BLOCK_BYTES).zero();

  private static final BytePointer HANDLE = new BytePointer(BLOCK_BYTES).zero();
  private static final Map<String, String> METHODS = new LinkedHashMap<>();

  static {
    new LongPointer(HANDLE).put(DEVICE.address());
    METHODS.put("ibv_get_device_guid", "metrale_ibv_describe_device");
    METHODS.put("_ibv_query_gid_table", "metrale_ibv_query_gid_table");
    METHODS.put("_ibv_query_gid_ex", "metrale_ibv_query_gid_ex");
    METHODS.put("ibv_reg_mr_iova2", "metrale_ibv_reg_mr");
  }

  private ShimCalls() {}

  /** The shim function through which a function of libibverbs is reached. */
  static String method(String function) {
    return METHODS.getOrDefault(function, "metrale_" + function);
  }

  /** Something of a parameter's type that the shim accepts. */
  static Object argument(String function, Class<?> type) throws ReflectiveOperationException {
    if (type == int.class) {
      return function.equals("ibv_reg_mr_iova2") ? RELAXED_ORDERING : 1;
    }
    if (type == long.class) {
      return function.equals("ibv_free_device_list") ? HANDLE.address() : 1L;
    }
    if (type == long[].class) {
      return new long[1];
    }
    if (type == byte[].class) {
      return new byte[1];
    }
    if (type == LongBuffer.class) {
      return LongBuffer.allocate(1);
    }
    if (type == ByteBuffer.class) {
      return ByteBuffer.allocateDirect(1);
    }
    if (type == metrale_ibv_qp_init.class) {
      return new metrale_ibv_qp_init().qp_type(RELIABLE_CONNECTION);
    }
    if (type == metrale_ibv_async_event.class) {
      return new metrale_ibv_async_event().event_type(PORT_ERROR);
    }
    if (type == metrale_ibv_qp_attr.class) {
      return new metrale_ibv_qp_attr(DEVICE);
    }
    return type.getConstructor(Pointer.class).newInstance(HANDLE);
  }
}
