package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.annotation.Opaque;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Structures as Java sees them are what a C program sees, on both platforms. */
@Tag("native")
final class LayoutTest {
  /** Structures that C fills by a brace list. */
  private static final Map<String, String> INITIALIZERS =
      Map.of(
          "ncclConfig_t", "NCCL_CONFIG_INITIALIZER",
          "ncclSimInfo_t", "NCCL_SIM_INFO_INITIALIZER",
          "ncclCollConfig_t", "NCCL_COLLCONFIG_INITIALIZER",
          "ncclEncryptionConfig_t", "NCCL_ENCRYPTION_CONFIG_INITIALIZER");

  /** Version macros that are not named as their structure. */
  private static final Map<String, String> OTHER_VERSIONS =
      Map.of(
          "nvmlGpmMetricsGet_t", "NVML_GPM_METRICS_GET_VERSION",
          "nvmlGpmSupport_t", "NVML_GPM_SUPPORT_VERSION");

  /** Version words that NVML writes and does not look at. */
  private static final Map<String, String> ANSWERED =
      Map.of(
          "nvmlVgpuMetadata_t", "filled by nvmlVgpuInstanceGetMetadata",
          "nvmlVgpuPgpuMetadata_t", "filled by nvmlDeviceGetVgpuMetadata");

  @TempDir static Path folder;

  private static final Map<String, Map<String, Integer>> LAYOUT = new TreeMap<>();
  private static final Map<String, String> VERSIONS = new TreeMap<>();
  private static final Map<String, String> PRINTED = new TreeMap<>();
  private static Path source;

  @BeforeAll
  static void printsItInC() throws Exception {
    for (String library : GeneratedClasses.LIBRARIES) {
      Loader.load(GeneratedClasses.global(library));
    }
    readLayout();
    readVersionMacros();
    source = Files.writeString(folder.resolve("layout.c"), program());
    Path executable = folder.resolve("layout");
    compile(Fakes.platform(), "-o", executable.toString());
    List<String> command = new ArrayList<>();
    String runner = System.getProperty("metrale.runner", "");
    if (!runner.isEmpty()) {
      // What runs programs of another architecture here.
      command.addAll(List.of(runner.split(" ")));
    }
    command.add(executable.toString());
    run(command.toArray(String[]::new))
        .lines()
        .forEach(line -> PRINTED.put(line.split("=")[0], line.split("=")[1]));
  }

  @Test
  void sizesAndOffsetsAreThoseOfC() {
    Map<String, String> java = new TreeMap<>();
    LAYOUT.forEach(
        (type, members) ->
            members.forEach((member, offset) -> java.put(type + " " + member, offset.toString())));
    Map<String, String> c = new TreeMap<>(PRINTED);
    c.keySet().removeIf(key -> !key.contains(" "));
    assertEquals(c, java);
    assertTrue(java.size() > 1000, java.size() + " offsets");
  }

  @Test
  void coversEveryStructure() {
    TreeSet<String> structures = new TreeSet<>();
    for (String library : GeneratedClasses.LIBRARIES) {
      for (Class<?> type : GeneratedClasses.types(library)) {
        if (!type.isAnnotationPresent(Opaque.class) && Pointer.class == type.getSuperclass()) {
          structures.add(type.getSimpleName());
        }
      }
    }
    assertEquals(structures, new TreeSet<>(LAYOUT.keySet()));
  }

  @Test
  void isTheSameOnTheOtherPlatform() throws Exception {
    // The expected values are assertions in the source.
    compile(
        Fakes.platform().endsWith("arm64") ? "linux-x86_64" : "linux-arm64",
        "-c",
        "-o",
        folder.resolve("layout.o").toString());
  }

  @Test
  void constructorsInitialiseAsTheMacrosDo() throws Exception {
    for (String type : INITIALIZERS.keySet()) {
      Constructor<?> several = type("nccl", type).getConstructor(long.class);
      try (Pointer one = (Pointer) type("nccl", type).getConstructor().newInstance();
          Pointer array = (Pointer) several.newInstance(3L)) {
        assertEquals(PRINTED.get(type), members(one), type);
        assertEquals(PRINTED.get(type), members(array.getPointer(2)), type + "[2]");
      }
    }
  }

  @Test
  void constructorsWriteTheVersionWord() throws Exception {
    for (Map.Entry<String, String> entry : VERSIONS.entrySet()) {
      Class<?> type = type("nvml", entry.getKey());
      try (Pointer structure = (Pointer) type.getConstructor().newInstance()) {
        Object version = type.getMethod("version").invoke(structure);
        assertEquals(PRINTED.get(entry.getValue()), version.toString(), entry.getKey());
      }
    }
    assertTrue(VERSIONS.size() > 50, VERSIONS.size() + " structures");
  }

  @Test
  void everyStructureWithAVersionWordIsInitialised() {
    TreeSet<String> versioned = new TreeSet<>();
    for (Class<?> type : GeneratedClasses.types("nvml")) {
      Map<String, Integer> members = LAYOUT.getOrDefault(type.getSimpleName(), Map.of());
      if (Integer.valueOf(0).equals(members.get("version"))) {
        versioned.add(type.getSimpleName());
      }
    }
    versioned.removeAll(VERSIONS.keySet());
    assertEquals(new TreeSet<>(ANSWERED.keySet()), versioned);
  }

  private static void readLayout() throws ReflectiveOperationException {
    Field offsets = Loader.class.getDeclaredField("memberOffsets");
    offsets.setAccessible(true);
    Map<?, ?> all = (Map<?, ?>) offsets.get(null);
    for (Map.Entry<?, ?> entry : all.entrySet()) {
      Class<?> type = (Class<?>) entry.getKey();
      if (type.getName().startsWith("org.metrale.")
          && !type.getName().startsWith("org.metrale.global.")
          && type.getSuperclass() == Pointer.class) {
        Map<String, Integer> members = new TreeMap<>();
        ((Map<?, ?>) entry.getValue())
            .forEach((name, offset) -> members.put((String) name, (Integer) offset));
        LAYOUT.put(type.getSimpleName(), members);
      }
    }
  }

  private static void readVersionMacros() throws IOException {
    String header = Files.readString(Fakes.repository().resolve("cppbuild/parse/nvml.h"));
    Matcher found =
        Pattern.compile("#define\\s+(nvml\\w+_v\\d+)\\s*\\\\?\\s*NVML_STRUCT_VERSION\\(")
            .matcher(header);
    while (found.find()) {
      Map<String, Integer> members = LAYOUT.getOrDefault(found.group(1) + "_t", Map.of());
      if (members.containsKey("version")) {
        VERSIONS.put(found.group(1) + "_t", found.group(1));
      }
    }
    VERSIONS.putAll(OTHER_VERSIONS);
  }

  private static String program() {
    StringBuilder out = new StringBuilder();
    for (String header :
        List.of(
            "stdbool.h",
            "stddef.h",
            "stdio.h",
            "cuda.h",
            "nccl.h",
            "nvml.h",
            "cufile.h",
            "nvtx3/nvToolsExt.h",
            "metrale_ibv.h")) {
      out.append("#include <").append(header).append(">\n");
    }
    out.append(
        "#define PRINT(member) for (size_t i = 0; i < sizeof x.member; i++)"
            + " printf(\"%02x\", ((const unsigned char *)&x.member)[i]); printf(\",\");\n");
    StringBuilder main = new StringBuilder("int main(void)\n{\n");
    LAYOUT.forEach(
        (type, members) ->
            members.forEach(
                (member, offset) -> {
                  String measure = measure(cName(type), member);
                  out.append("_Static_assert(" + measure + " == " + offset + ", \"\");\n");
                  main.append(
                      "printf(\"" + type + " " + member + "=%zu\\n\", (size_t)" + measure + ");\n");
                }));
    INITIALIZERS.forEach(
        (type, macro) -> {
          main.append(
              "{ static const " + type + " x = " + macro + "; printf(\"" + type + "=\");\n");
          for (String member : LAYOUT.get(type).keySet()) {
            if (!member.equals("sizeof")) {
              main.append("PRINT(" + member + ")\n");
            }
          }
          main.append("puts(\"\"); }\n");
        });
    VERSIONS.forEach(
        (type, macro) -> main.append("printf(\"" + macro + "=%d\\n\", (int)(" + macro + "));\n"));
    return out.append(main).append("return 0;\n}\n").toString();
  }

  private static String measure(String type, String member) {
    return member.equals("sizeof")
        ? "sizeof(" + type + ")"
        : "offsetof(" + type + ", " + member + ")";
  }

  /** Structures whose only name in C is a tag. */
  private static String cName(String type) {
    return type.endsWith("_t") || type.startsWith("nccl") ? type : "struct " + type;
  }

  private static Class<?> type(String library, String name) {
    return GeneratedClasses.types(library).stream()
        .filter(type -> type.getSimpleName().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /**
   * The bytes of the members, as the C program prints them; between members lies what was there.
   */
  private static String members(Pointer structure) {
    Map<String, Integer> layout = LAYOUT.get(structure.getClass().getSimpleName());
    String[] expected = PRINTED.get(structure.getClass().getSimpleName()).split(",");
    StringBuilder out = new StringBuilder();
    int index = 0;
    for (Map.Entry<String, Integer> member : layout.entrySet()) {
      if (!member.getKey().equals("sizeof")) {
        byte[] bytes = new byte[expected[index++].length() / 2];
        new BytePointer(structure)
            .position(member.getValue())
            .capacity(structure.sizeof())
            .get(bytes);
        out.append(HexFormat.of().formatHex(bytes)).append(',');
      }
    }
    return out.toString();
  }

  private static void compile(String platform, String... options) throws Exception {
    Path repository = Fakes.repository();
    List<String> command = new ArrayList<>();
    command.add(repository.resolve("cppbuild/bin/cc-" + platform).toString());
    command.addAll(
        List.of("-std=gnu11", "-w", "-DNCCL_OS_LINUX", "-DNVML_NO_UNVERSIONED_FUNC_DEFS"));
    command.add("-I" + repository.resolve("cppbuild/include"));
    command.add("-I" + repository.resolve("src/main/resources/org/metrale/include"));
    command.add(source.toString());
    command.addAll(List.of(options));
    run(command.toArray(String[]::new));
  }

  private static String run(String... command) throws Exception {
    Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(process.getInputStream().readAllBytes());
    assertEquals(0, process.waitFor(), output);
    return output;
  }
}
