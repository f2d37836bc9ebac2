package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** A program for bytedeco's presets compiles here once its imports are changed. */
final class DropInTest {
  private static final String AREAS = "nccl|nvml|cufile";

  @Test
  void hasEveryMemberThatBytedecoHas() throws Exception {
    Map<String, String> reasons = exceptions();
    Set<String> missing = new TreeSet<>();
    int members = 0;
    for (String name : theirClasses()) {
      Set<String> theirs = members(Class.forName(name, false, getClass().getClassLoader()));
      members += theirs.size();
      Set<String> ours = ours(name);
      theirs.stream().filter(member -> !ours.contains(member)).forEach(missing::add);
    }
    int percent = 100 * (members - missing.size()) / members;
    System.out.println(
        "drop-in: " + (members - missing.size()) + " of " + members + " members, without:");
    missing.forEach(
        member -> System.out.println("  " + member + ": " + reasons.getOrDefault(member, "?")));
    assertEquals(reasons.keySet(), missing, "members that are missing, and those with a reason");
    assertTrue(percent >= 99, percent + " %");
    assertTrue(members > 5000, members + " members");
  }

  private static Set<String> ours(String theirName) {
    try {
      return members(Class.forName(renamed(theirName), false, DropInTest.class.getClassLoader()));
    } catch (ClassNotFoundException e) {
      return Set.of();
    }
  }

  private static String renamed(String name) {
    return name.replaceAll(
        "org\\.bytedeco\\.cuda\\.((?:global|presets)\\.(?:" + AREAS + ")\\b|(?:" + AREAS + ")\\.)",
        "org.metrale.$1");
  }

  /** Everything that a program can name, as text, with our package names. */
  private static Set<String> members(Class<?> type) {
    Set<String> out = new TreeSet<>();
    String owner = renamed(type.getName());
    out.add(owner + " extends " + renamed(type.getSuperclass().getName()));
    for (Field field : type.getDeclaredFields()) {
      if (Modifier.isPublic(field.getModifiers())) {
        out.add(owner + "." + field.getName() + " : " + renamed(field.getType().getName()));
      }
    }
    for (Constructor<?> constructor : type.getDeclaredConstructors()) {
      if (Modifier.isPublic(constructor.getModifiers())) {
        out.add(owner + parameters(constructor));
      }
    }
    for (Method method : type.getDeclaredMethods()) {
      if (Modifier.isPublic(method.getModifiers()) && !method.isSynthetic()) {
        String kind = Modifier.isStatic(method.getModifiers()) ? "." : "#";
        String result = renamed(method.getReturnType().getName());
        out.add(owner + kind + method.getName() + parameters(method) + " : " + result);
      }
    }
    return out;
  }

  private static String parameters(Executable executable) {
    return Arrays.stream(executable.getParameterTypes())
        .map(type -> renamed(type.getName()))
        .collect(Collectors.joining(",", "(", ")"));
  }

  /** The global classes and every structure, callback and handle of the three areas. */
  private static Set<String> theirClasses() throws IOException, URISyntaxException {
    Path jar =
        Path.of(
            org.bytedeco
                .cuda
                .presets
                .cudart
                .class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
    try (JarFile file = new JarFile(jar.toFile())) {
      return file.stream()
          .map(entry -> entry.getName())
          .filter(
              name ->
                  name.matches(
                      "org/bytedeco/cuda/(global/(" + AREAS + ")|(" + AREAS + ")/.*).class"))
          .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }

  /** What is left out, with the reason: lines of {@code member | reason}. */
  private static Map<String, String> exceptions() throws IOException {
    Map<String, String> out = new TreeMap<>();
    try (var in = DropInTest.class.getResourceAsStream("drop-in-exceptions.txt")) {
      new String(in.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .filter(line -> !line.startsWith("#") && !line.isBlank())
          .forEach(
              line -> {
                String[] parts = line.split(" \\| ");
                out.put(parts[0], parts[1]);
              });
    }
    return out;
  }
}
