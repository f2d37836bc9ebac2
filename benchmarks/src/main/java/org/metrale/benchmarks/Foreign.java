package org.metrale.benchmarks;

import java.lang.invoke.MethodHandle;
import java.lang.reflect.Array;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Calls by Java's own foreign function interface, of Java 22 and later. What finds a function is
 * called by reflection, since these classes are compiled for Java 17; what calls it is an ordinary
 * method handle in a constant, as in code that jextract writes. Addresses and handles cross as
 * {@code long}.
 */
public final class Foreign {
  private static final String NONE = "this Java has no java.lang.foreign";

  private static final int FIRST = 22;

  private Foreign() {}

  /** Whether a Java of that major version has it. */
  static boolean isIn(String java) {
    return Integer.parseInt(java) >= FIRST;
  }

  /**
   * The handle of a function of a no-op library.
   *
   * @param soname the library
   * @param function the C name
   * @param critical whether the call may do without a change of the thread's state
   * @param result what it answers, {@code int.class} or {@code long.class}
   * @param parameters what it takes, the same two
   */
  public static MethodHandle function(
      String soname, String function, boolean critical, Class<?> result, Class<?>... parameters) {
    return function(NoOp.folder().resolve(soname), function, critical, result, parameters);
  }

  /** The handle of a function of a library by its file. */
  static MethodHandle function(
      Path file, String function, boolean critical, Class<?> result, Class<?>... parameters) {
    try {
      Class<?> arenaType = named("Arena");
      Class<?> lookupType = named("SymbolLookup");
      Object arena = arenaType.getMethod("global").invoke(null);
      Object lookup =
          lookupType.getMethod("libraryLookup", Path.class, arenaType).invoke(null, file, arena);
      Object segment =
          ((Optional<?>) lookupType.getMethod("find", String.class).invoke(lookup, function))
              .orElseThrow();
      return link(segment, critical, result, parameters);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(NONE, e);
    }
  }

  /** The handle of a function by its address, as a table of functions has it. */
  static MethodHandle function(
      long address, boolean critical, Class<?> result, Class<?>... parameters) {
    try {
      Object segment =
          named("MemorySegment").getMethod("ofAddress", long.class).invoke(null, address);
      return link(segment, critical, result, parameters);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(NONE, e);
    }
  }

  private static MethodHandle link(
      Object segment, boolean critical, Class<?> result, Class<?>... parameters)
      throws ReflectiveOperationException {
    Class<?> linkerType = named("Linker");
    Class<?> layoutType = named("MemoryLayout");
    Class<?> descriptorType = named("FunctionDescriptor");
    Class<?> optionType = named("Linker$Option");
    Class<?> segmentType = named("MemorySegment");

    Object layouts = Array.newInstance(layoutType, parameters.length);
    for (int i = 0; i < parameters.length; i++) {
      Array.set(layouts, i, layout(parameters[i]));
    }
    Object descriptor =
        descriptorType
            .getMethod("of", layoutType, layouts.getClass())
            .invoke(null, layout(result), layouts);
    Object options = Array.newInstance(optionType, critical ? 1 : 0);
    if (critical) {
      Array.set(options, 0, optionType.getMethod("critical", boolean.class).invoke(null, false));
    }
    Object linker = linkerType.getMethod("nativeLinker").invoke(null);
    return (MethodHandle)
        linkerType
            .getMethod("downcallHandle", segmentType, descriptorType, options.getClass())
            .invoke(linker, segment, descriptor, options);
  }

  private static Object layout(Class<?> type) throws ReflectiveOperationException {
    return named("ValueLayout")
        .getField(type.equals(long.class) ? "JAVA_LONG" : "JAVA_INT")
        .get(null);
  }

  private static Class<?> named(String name) throws ClassNotFoundException {
    return Class.forName("java.lang.foreign." + name);
  }
}
