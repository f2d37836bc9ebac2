package org.metrale.gpu;

import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Calls every function of a library in which each throws a C++ exception, but for those that the
 * glue calls without a guard, and prints what came of it.
 *
 * <p>Arguments: the library, and how often each is called.
 */
final class ThrowingFunctions {
  /** METRALE_BARE of the headers: called too often to pay for a guard, with nothing to throw. */
  private static final Set<String> BARE =
      Set.of(
          "ncclGroupStart",
          "pncclGroupStart",
          "cuCtxGetCurrent",
          "cuCtxPushCurrent_v2",
          "cuCtxPopCurrent_v2",
          "cuStreamQuery",
          "cuStreamWaitEvent",
          "cuEventRecord",
          "cuEventQuery");

  private ThrowingFunctions() {}

  public static void main(String[] arguments) throws Exception {
    NativeLibrary library = NativeLibrary.named(arguments[0]);
    int times = Integer.parseInt(arguments[1]);
    Class<?> generated = Class.forName("org.metrale.global." + library.name());
    BoundFunctions bound = new BoundFunctions(generated, library.functions());
    System.out.println("version=" + library.version().orElse("unknown"));
    bound.methods().keySet().removeAll(BARE);
    System.out.println("guarded=" + bound.methods().size());
    int proved = 0;
    for (Map.Entry<String, List<Method>> function : bound.methods().entrySet()) {
      boolean well = !function.getValue().isEmpty();
      for (Method method : function.getValue()) {
        for (int i = 0; i < times; i++) {
          well &= threw(library, function.getKey(), bound, method);
        }
      }
      proved += well ? 1 : 0;
    }
    System.out.println("proved=" + proved);
  }

  private static boolean threw(
      NativeLibrary library, String function, BoundFunctions bound, Method method) {
    try {
      System.out.println("wrong=" + method + " answered " + bound.call(function, method));
    } catch (LibraryThrewException e) {
      if (e.function().equals(function)
          && e.library().equals(library.name())
          && e.getMessage().startsWith(function + ": " + library.title() + " at ")) {
        System.out.println("thrown=" + e.thrown());
        return true;
      }
      System.out.println("wrong=" + method + " said " + e);
    } catch (Throwable e) {
      System.out.println("wrong=" + method + " threw " + e);
    }
    return false;
  }
}
