package org.metrale.presets;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.bytedeco.cuda.presets.cudart;
import org.bytedeco.javacpp.ClassProperties;
import org.bytedeco.javacpp.LoadEnabled;
import org.bytedeco.javacpp.annotation.Platform;
import org.bytedeco.javacpp.annotation.Properties;
import org.bytedeco.javacpp.tools.BuildEnabled;
import org.bytedeco.javacpp.tools.Info;
import org.bytedeco.javacpp.tools.InfoMap;
import org.bytedeco.javacpp.tools.InfoMapper;
import org.bytedeco.javacpp.tools.Logger;

/** Recipe for {@code nvml.h}. */
@Properties(
    inherit = cudart.class,
    value =
        @Platform(
            value = {"linux-x86_64", "linux-arm64"},
            compiler = "cpp17",
            // Keeps the first version of each function callable under its own name.
            define = "NVML_NO_UNVERSIONED_FUNC_DEFS",
            include = {"nvml.h", "metrale_nvml_table.h", "metrale_table.h", "metrale_nvml.h"},
            library = "jnimetralenvml"),
    target = "org.metrale.nvml",
    global = "org.metrale.global.nvml")
public class nvml implements InfoMapper, LoadEnabled, BuildEnabled {
  private static final Pattern VERSION_MACRO =
      Pattern.compile("#define\\s+(nvml\\w+_v\\d+)\\s*\\\\?\\s*NVML_STRUCT_VERSION\\(");
  private static final String[] UNSIGNED = {"unsigned int", "int"};

  private java.util.Properties build = new java.util.Properties();

  @Override
  public void init(Logger logger, java.util.Properties properties, String encoding) {
    build = properties;
  }

  @Override
  public void init(ClassProperties properties) {
    Recipe.detach(
        properties, "nvml.h", "metrale_nvml_table.h", "metrale_table.h", "metrale_nvml.h");
  }

  @Override
  public void map(InfoMap map) {
    Recipe.table(map, "nvml");
    // An export macro without a value: taken for a type, every function would be dropped.
    map.put(new Info("DECLDIR").cppTypes().annotations());
    // The parser must read the header as the compiler does, else the unversioned names are macros.
    map.put(new Info("NVML_NO_UNVERSIONED_FUNC_DEFS").define(true));
    // Old names that are macros for a newer one: without this they become constants that name a
    // type.
    map.put(new Info("nvmlEccBitType_t").cppTypes().annotations());
    // Values that are names of enumerators declared later: translated, they are not constants.
    map.put(
        new Info("NVML_SINGLE_BIT_ECC", "NVML_DOUBLE_BIT_ECC", "nvmlClocksEventReasonAll")
            .translate(false));
    // Bit ranges (0:0): no value in C either.
    map.put(
        new Info(
                "NVML_VGPU_PGPU_VIRTUALIZATION_CAP_MIGRATION",
                "NVML_VGPU_VIRTUALIZATION_CAP_MIGRATION")
            .skip());
    // Handles: without these each becomes a bare Pointer and the types cannot be told apart.
    for (String kind :
        List.of(
            "Device",
            "Unit",
            "EventSet",
            "SystemEventSet",
            "GpmSample",
            "GpuInstance",
            "ComputeInstance")) {
      Recipe.handle(map, "nvml" + kind + "_t", "nvml" + kind + "_st");
    }
    fillsHandles(map);
    Recipe.throwNothing(map, Recipe.answering(Recipe.header(build, "nvml.h"), "nvmlReturn_t"));
    // NVML refuses a structure whose version word is not set.
    for (String version : versionMacros()) {
      initialised(map, version + "_t", version);
    }
    // Likewise, but with macros that are named otherwise.
    initialised(map, "nvmlGpmMetricsGet_t", "NVML_GPM_METRICS_GET_VERSION");
    initialised(map, "nvmlGpmSupport_t", "NVML_GPM_SUPPORT_VERSION");
  }

  private static void fillsHandles(InfoMap map) {
    String start = "public static native @Cast(\"nvmlReturn_t\") int ";
    String count = "@Cast(\"unsigned int*\") NUMBERS ";
    String devices = "@Cast(\"nvmlDevice_st**\") PointerPointer ";
    Recipe.fillsHandles(
        map,
        "nvmlSystemGetTopologyGpuSet",
        start
            + "nvmlSystemGetTopologyGpuSet(@Cast(\"unsigned int\") int cpuNumber, "
            + count
            + "count, "
            + devices
            + "deviceArray);");
    Recipe.fillsHandles(
        map,
        "nvmlUnitGetDevices",
        start
            + "nvmlUnitGetDevices(nvmlUnit_st unit, "
            + count
            + "deviceCount, "
            + devices
            + "devices);");
    Recipe.fillsHandles(
        map,
        "nvmlDeviceGetTopologyNearestGpus",
        start
            + "nvmlDeviceGetTopologyNearestGpus(nvmlDevice_st device,"
            + " @Cast(\"nvmlGpuTopologyLevel_t\") int level, "
            + count
            + "count, "
            + devices
            + "deviceArray);");
    Recipe.fillsHandles(
        map,
        "nvmlDeviceGetGpuInstances",
        start
            + "nvmlDeviceGetGpuInstances(nvmlDevice_st device, @Cast(\"unsigned int\") int profileId,"
            + " @Cast(\"nvmlGpuInstance_st**\") PointerPointer gpuInstances, "
            + count
            + "count);");
    Recipe.fillsHandles(
        map,
        "nvmlGpuInstanceGetComputeInstances",
        start
            + "nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_st gpuInstance,"
            + " @Cast(\"unsigned int\") int profileId,"
            + " @Cast(\"nvmlComputeInstance_st**\") PointerPointer computeInstances, "
            + count
            + "count);");
  }

  private static void initialised(InfoMap map, String structure, String version) {
    Recipe.initialised(map, structure, "version", UNSIGNED, "metrale_set_version<" + version + ">");
  }

  /**
   * The macros that give a structure's version word, read from the header itself; only those of
   * structures that begin with that word.
   */
  private List<String> versionMacros() {
    List<String> out = new ArrayList<>();
    String header = Recipe.header(build, "nvml.h");
    Matcher found = VERSION_MACRO.matcher(header);
    while (found.find()) {
      String structure = found.group(1) + "_t";
      if (Pattern.compile("\\{\\s*unsigned int\\s+version;[^{}]*\\}\\s*" + structure + ";")
          .matcher(header)
          .find()) {
        out.add(found.group(1));
      }
    }
    return out;
  }
}
