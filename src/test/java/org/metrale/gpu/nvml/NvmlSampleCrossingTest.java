package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** How often a sample of a device crosses into native code, read from the classes' calls. */
class NvmlSampleCrossingTest {
  /** What keeps the session open meanwhile: it calls native code only where the session ends. */
  private static final Set<String> GUARDS = Set.of("enter", "leave");

  private static final JavaClasses CLASSES =
      new ClassFileImporter()
          .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
          .importPackages("org.metrale");

  @Test
  void aFastSampleHasOneCallIntoNativeCode() {
    assertEquals(List.of("metrale_nvml_sample"), nativeCalls("sample"));
  }

  @Test
  void slowMetricsHaveSeveral() {
    // Else nothing would be looked for in the right place.
    assertTrue(nativeCalls("sampleSlow").size() > 1);
  }

  /** The names of native methods at all call sites that a method of the source reaches. */
  private static List<String> nativeCalls(String method) {
    List<String> out = new ArrayList<>();
    Set<String> seen = new HashSet<>();
    Deque<JavaCodeUnit> open = new ArrayDeque<>();
    open.add(CLASSES.get(NvmlDeviceSource.class).getMethod(method, NvmlSample.class));
    while (!open.isEmpty()) {
      JavaCodeUnit unit = open.remove();
      if (seen.add(unit.getFullName())) {
        for (JavaMethodCall call : unit.getMethodCallsFromSelf()) {
          JavaMethod target = call.getTarget().resolveMember().orElse(null);
          if (target != null && isOurs(target.getOwner()) && !GUARDS.contains(target.getName())) {
            if (target.getModifiers().contains(JavaModifier.NATIVE)) {
              out.add(target.getName());
            }
            open.add(target);
          }
        }
        unit.getConstructorCallsFromSelf().stream()
            .flatMap(call -> call.getTarget().resolveMember().stream())
            .filter(target -> isOurs(target.getOwner()))
            .forEach(open::add);
        // Lambdas are called later, by whoever got them; they count as called here.
        unit.getMethodReferencesFromSelf().stream()
            .flatMap(reference -> reference.getTarget().resolveMember().stream())
            .filter(target -> isOurs(target.getOwner()))
            .forEach(open::add);
      }
    }
    return out;
  }

  private static boolean isOurs(JavaClass owner) {
    return owner.getPackageName().startsWith("org.metrale");
  }
}
