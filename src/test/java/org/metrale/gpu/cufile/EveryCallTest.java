package org.metrale.gpu.cufile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** That programs on the software GPU host call whatever moves bytes or asks cuFile. */
final class EveryCallTest {
  private static final List<Class<?>> CALLED =
      List.of(
          CuFileDriver.class,
          CuFileHandle.class,
          CuFileBuffer.class,
          CuFileBatch.class,
          CuFileOperation.class,
          CuFileMemory.class);

  private static final JavaClasses CLASSES =
      new ClassFileImporter().importPackages("org.metrale.gpu.cufile");

  @Test
  void isMadeOnTheSoftwareGpuHost() {
    Set<String> wanted = new TreeSet<>();
    for (Class<?> type : CALLED) {
      for (JavaCodeUnit method : CLASSES.get(type).getMethods()) {
        if (method.getModifiers().contains(JavaModifier.PUBLIC)
            && !method.getModifiers().contains(JavaModifier.SYNTHETIC)
            && !method.getName().equals("toString")) {
          wanted.add(method.getFullName());
        }
      }
    }
    assertTrue(wanted.size() > 40, wanted::toString);
    for (JavaClass one : CLASSES) {
      if (one.getFullName().matches(".*Scenario(\\$.*)?")) {
        one.getCodeUnitCallsFromSelf().stream()
            .flatMap(call -> call.getTarget().resolveMember().stream())
            .forEach(target -> wanted.remove(target.getFullName()));
        one.getCodeUnitReferencesFromSelf().stream()
            .flatMap(reference -> reference.getTarget().resolveMember().stream())
            .forEach(target -> wanted.remove(target.getFullName()));
      }
    }
    assertEquals(Set.of(), wanted);
  }
}
