package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaMethodCall;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What GraalVM's native-image must be told, against what the glue and the classes really ask for:
 * the configuration that JavaCPP's build writes beside the glue, and ours for the rest.
 */
@Tag("native")
final class NativeImageConfigTest {
  private static final Pattern CLASS_IN_GLUE =
      Pattern.compile("(?<=\0)(?:org|java)(?:/[\\w$]+)+(?=\0)");
  private static final Pattern BY_NAME =
      Pattern.compile(
          "java\\.lang\\.Class(Loader)?\\.(forName|loadClass|get(Declared)?(Method|Field|Constructor)s?"
              + "|getResources?|getResourceAsStream)"
              + "|java\\.util\\.(ServiceLoader\\.load|ResourceBundle\\.getBundle)"
              + "|java\\.lang\\.reflect\\.Proxy\\.newProxyInstance");
  private static final Path OURS =
      Fakes.repository()
          .resolve("src/main/resources/META-INF/native-image/org.metrale/metrale-gpu");

  @ParameterizedTest
  @ValueSource(strings = {"linux-x86_64", "linux-arm64"})
  void everyClassThatTheGlueNamesIsConfigured(String platform) throws IOException {
    Set<String> configured = entries(platform, "jni-config.json").keySet();
    Set<String> named = new TreeSet<>();
    try (Stream<Path> files = Files.list(Fakes.glue(platform))) {
      for (Path glue : files.filter(one -> one.toString().endsWith(".so")).toList()) {
        String bytes = Files.readString(glue, StandardCharsets.ISO_8859_1);
        named.addAll(
            CLASS_IN_GLUE
                .matcher(bytes)
                .results()
                .map(MatchResult::group)
                .map(name -> name.replace('/', '.'))
                .toList());
      }
    }
    assertTrue(named.size() > 200, named::toString);
    named.removeAll(configured);
    assertEquals(Set.of(), named);
  }

  @ParameterizedTest
  @ValueSource(strings = {"linux-x86_64", "linux-arm64"})
  void everyGeneratedClassCanBeFoundByItsName(String platform) throws Exception {
    Set<String> configured = entries(platform, "reflect-config.json").keySet();
    List<String> lacking = new ArrayList<>();
    for (String library : GeneratedClasses.LIBRARIES) {
      List<Class<?>> generated = new ArrayList<>(GeneratedClasses.types(library));
      generated.add(GeneratedClasses.global(library));
      for (Class<?> one : generated) {
        if (!configured.contains(one.getName())) {
          lacking.add(one.getName());
        }
      }
    }
    assertEquals(List.of(), lacking);
  }

  @ParameterizedTest
  @ValueSource(strings = {"linux-x86_64", "linux-arm64"})
  void namesNothingThatIsNotThere(String platform) throws Exception {
    for (String name : entries(platform, "jni-config.json").keySet()) {
      Class.forName(name, false, getClass().getClassLoader());
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"linux-x86_64", "linux-arm64"})
  void whatTheGlueThrowsCanBeMade(String platform) throws Exception {
    Map<String, List<JsonNode>> entries = entries(platform, "jni-config.json");
    for (Class<?> thrown :
        List.of(
            LibraryThrewException.class,
            LibraryUnavailableException.class,
            OutOfMemoryError.class)) {
      List<JsonNode> found = entries.getOrDefault(thrown.getName(), List.of());
      assertTrue(
          found.stream()
              .anyMatch(
                  entry ->
                      entry.path("allDeclaredConstructors").asBoolean()
                          || entry.path("methods").toString().contains("<init>")),
          thrown + " " + found);
      thrown.getDeclaredConstructor(String.class);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"linux-x86_64", "linux-arm64"})
  void recipesCanBeInstantiated(String platform) throws IOException {
    Map<String, List<JsonNode>> entries = entries(platform, "reflect-config.json");
    for (NativeLibrary library : NativeLibrary.all()) {
      String name = library.name().replace("ib", "");
      List<JsonNode> recipe = entries.get("org.metrale.presets." + name);
      assertTrue(
          recipe != null
              && recipe.stream().anyMatch(one -> one.path("allDeclaredConstructors").asBoolean()),
          name);
    }
  }

  @Test
  void everyResourceThatIsReadIsTakenAlong() throws IOException {
    JsonNode ours = new ObjectMapper().readTree(OURS.resolve("resource-config.json").toFile());
    List<String> patterns =
        ours.path("resources").findValues("pattern").stream().map(JsonNode::asText).toList();
    Path root = Fakes.repository().resolve("src/main/resources");
    List<String> read;
    try (Stream<Path> files = Files.walk(root.resolve("org/metrale/gpu"))) {
      read = files.filter(Files::isRegularFile).map(root::relativize).map(Path::toString).toList();
    }
    assertFalse(read.isEmpty());
    for (String resource : read) {
      assertTrue(patterns.stream().anyMatch(resource::matches), resource);
    }
    for (String platform : List.of("linux-x86_64", "linux-arm64")) {
      try (Stream<Path> glue = Files.list(Fakes.glue(platform))) {
        Set<String> listed = texts(platform, "resource-config.json");
        for (Path file : glue.filter(one -> one.toString().endsWith(".so")).toList()) {
          String name = file.getFileName().toString();
          assertTrue(listed.stream().anyMatch(text -> text.contains("/" + name)), name);
        }
      }
    }
  }

  /**
   * Whatever finds a class or a resource by its name: the tests above are about these, and a new
   * one needs an entry and a test too.
   */
  @Test
  void nothingElseLooksForSomethingByItsName() {
    Path classes = RegenerateTree.recipes().resolve("org/metrale");
    Set<String> found = new TreeSet<>();
    for (JavaClass one :
        new ClassFileImporter().importPaths(classes.resolve("gpu"), classes.resolve("presets"))) {
      for (JavaMethodCall call : one.getMethodCallsFromSelf()) {
        String target = call.getTargetOwner().getName() + "." + call.getName();
        if (BY_NAME.matcher(target).matches()) {
          found.add(one.getSimpleName() + ": " + call.getName());
        }
      }
    }
    assertEquals(
        Set.of(
            "LibraryVersion: getResourceAsStream",
            "NativeLibrary: forName",
            "Recipe: forName",
            "RedistJar: getResource"),
        found);
  }

  /** The entries of all files of a name, by class: the platform's and ours. */
  private static Map<String, List<JsonNode>> entries(String platform, String file)
      throws IOException {
    Map<String, List<JsonNode>> out = new TreeMap<>();
    for (Path path : files(platform, file)) {
      for (JsonNode entry : new ObjectMapper().readTree(path.toFile())) {
        out.computeIfAbsent(entry.path("name").asText(), name -> new ArrayList<>()).add(entry);
      }
    }
    return out;
  }

  private static Set<String> texts(String platform, String file) throws IOException {
    Set<String> out = new TreeSet<>();
    for (Path path : files(platform, file)) {
      out.add(Files.readString(path));
    }
    return out;
  }

  private static List<Path> files(String platform, String file) throws IOException {
    Path root = Fakes.glue(platform).getParent().getParent().getParent();
    try (Stream<Path> found = Files.walk(root.resolve("META-INF/native-image"));
        Stream<Path> ours = Files.walk(OURS)) {
      List<Path> out =
          Stream.concat(found, ours).filter(one -> one.endsWith(file)).collect(Collectors.toList());
      assertTrue(out.size() > 1, out::toString);
      return out;
    }
  }
}
