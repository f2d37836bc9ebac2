package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.bytedeco.javacpp.Pointer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * A program can use every type that a signature names, though none of bytedeco's own libraries is
 * there: some of its classes would load one when they are first used.
 */
@Tag("native")
final class SignatureTypesTest {
  @Test
  void everyTypeCanBeUsedWithoutBytedecosLibraries() {
    assertTrue(
        Stream.of(System.getProperty("java.class.path").split(":"))
            .noneMatch(entry -> entry.matches(".*/cuda-[^/]*-linux-[^/]*\\.jar")),
        "a jar with bytedeco's libraries is on the class path");
    Set<Class<?>> types = new TreeSet<>(Comparator.comparing(Class::getName));
    for (String library : GeneratedClasses.LIBRARIES) {
      addTypes(GeneratedClasses.global(library), types);
      GeneratedClasses.types(library).forEach(type -> addTypes(type, types));
    }
    List<String> unusable = new ArrayList<>();
    for (Class<?> type : types) {
      try {
        use(type);
      } catch (LinkageError | ReflectiveOperationException e) {
        unusable.add(type.getName() + ": " + e);
      }
    }
    assertEquals(List.of(), unusable);
    assertTrue(types.size() > 200, types.size() + " types");
    assertTrue(
        types.stream()
            .anyMatch(type -> type.getName().equals("org.bytedeco.cuda.cudart.CUstream_st")),
        "streams are bytedeco's");
  }

  private static void use(Class<?> type) throws ReflectiveOperationException {
    Class.forName(type.getName(), true, SignatureTypesTest.class.getClassLoader());
    if (Pointer.class.isAssignableFrom(type) && !Modifier.isAbstract(type.getModifiers())) {
      for (Constructor<?> constructor : type.getConstructors()) {
        Class<?>[] parameters = constructor.getParameterTypes();
        if (parameters.length == 1 && parameters[0] == Pointer.class) {
          constructor.newInstance((Pointer) null);
        }
      }
    }
  }

  private static void addTypes(Class<?> owner, Set<Class<?>> out) {
    for (Method method : owner.getDeclaredMethods()) {
      if (Modifier.isPublic(method.getModifiers())) {
        addType(method.getReturnType(), out);
        addParameters(method, out);
      }
    }
    for (Constructor<?> constructor : owner.getConstructors()) {
      addType(owner, out);
      addParameters(constructor, out);
    }
  }

  private static void addParameters(Executable executable, Set<Class<?>> out) {
    for (Class<?> type : executable.getParameterTypes()) {
      addType(type, out);
    }
  }

  private static void addType(Class<?> type, Set<Class<?>> out) {
    Class<?> element = type.isArray() ? type.getComponentType() : type;
    if (!element.isPrimitive()) {
      out.add(element);
    }
  }
}
