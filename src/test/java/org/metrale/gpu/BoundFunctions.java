package org.metrale.gpu;

import java.lang.annotation.Annotation;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.annotation.ByPtrPtr;
import org.bytedeco.javacpp.annotation.ByVal;

/** The generated methods of one library by the C function that each calls, ready to be called. */
final class BoundFunctions {
  /** More than any structure that is handed over by value. */
  private static final long ANY_STRUCTURE_BYTES = 1 << 16;

  private static final BytePointer ZEROS = new BytePointer(ANY_STRUCTURE_BYTES).zero();

  private final Map<String, List<Method>> methods = new LinkedHashMap<>();
  private final boolean shim;

  /**
   * Looks for the methods of every function.
   *
   * @param generated the generated class
   * @param functions the C names that are bound
   */
  BoundFunctions(Class<?> generated, List<String> functions) {
    shim = generated.getSimpleName().equals("verbs");
    for (String function : functions) {
      methods.put(function, new ArrayList<>());
    }
    for (Method method : generated.getMethods()) {
      if (Modifier.isNative(method.getModifiers()) && Modifier.isStatic(method.getModifiers())) {
        if (shim) {
          functions.stream()
              .filter(function -> ShimCalls.method(function).equals(method.getName()))
              .forEach(function -> methods.get(function).add(method));
        } else if (called(method.getName()) != null) {
          methods.get(called(method.getName())).add(method);
        }
      }
    }
  }

  /** Every function, with an empty list where no method calls it. */
  Map<String, List<Method>> methods() {
    return methods;
  }

  /**
   * Calls a method with nothing: zeros, nulls, structures of zeros where C takes them by value, and
   * an object to be filled where C answers a handle; one of the shim with what it accepts.
   */
  Object call(String function, Method method) throws Throwable {
    Class<?>[] types = method.getParameterTypes();
    Object[] arguments = new Object[types.length];
    for (int i = 0; i < types.length; i++) {
      arguments[i] =
          shim
              ? ShimCalls.argument(function, types[i])
              : nothing(types[i], method.getParameterAnnotations()[i]);
    }
    try {
      return method.invoke(null, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  /** Macros of the headers turn a name into its newest version. */
  private String called(String name) {
    for (int version = 9; version > 1; version--) {
      if (methods.containsKey(name + "_v" + version) && isMacro(name)) {
        return name + "_v" + version;
      }
    }
    // The first version of a function whose plain name means a later one.
    String plain = name.endsWith("_v1") ? name.substring(0, name.length() - 3) : name;
    return methods.containsKey(name) ? name : methods.containsKey(plain) ? plain : null;
  }

  /** NVML's headers are read with that renaming off. */
  private static boolean isMacro(String name) {
    return !name.startsWith("nvml");
  }

  private static Object nothing(Class<?> type, Annotation[] annotations) throws Exception {
    if (type == boolean.class) {
      return false;
    }
    if (type == byte.class) {
      return (byte) 0;
    }
    if (type == short.class) {
      return (short) 0;
    }
    if (type == int.class) {
      return 0;
    }
    if (type == long.class) {
      return 0L;
    }
    if (type == float.class) {
      return 0f;
    }
    if (type == double.class) {
      return 0d;
    }
    for (Annotation annotation : annotations) {
      if (annotation instanceof ByVal) {
        return type.getConstructor(Pointer.class).newInstance(ZEROS);
      }
      if (annotation instanceof ByPtrPtr && Pointer.class.isAssignableFrom(type)) {
        return type.getConstructor(Pointer.class).newInstance((Pointer) null);
      }
    }
    return null;
  }
}
