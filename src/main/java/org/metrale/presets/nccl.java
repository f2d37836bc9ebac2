package org.metrale.presets;

import java.util.List;
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

/** Recipe for {@code nccl.h}. */
@Properties(
    inherit = cudart.class,
    value =
        @Platform(
            value = {"linux-x86_64", "linux-arm64"},
            compiler = "cpp17",
            // Without it the header hides ncclResetDebugInit, which the library exports.
            define = "NCCL_OS_LINUX",
            include = {
              "nccl.h",
              "metrale_nccl_table.h",
              "metrale_table.h",
              "metrale_nccl.h",
              "metrale_nccl_communicator.h"
            },
            library = "jnimetralenccl"),
    target = "org.metrale.nccl",
    global = "org.metrale.global.nccl")
public class nccl implements InfoMapper, LoadEnabled, BuildEnabled {
  private static final String[] SIZE = {"size_t", "long"};

  private java.util.Properties build = new java.util.Properties();

  @Override
  public void init(Logger logger, java.util.Properties properties, String encoding) {
    build = properties;
  }

  @Override
  public void init(ClassProperties properties) {
    Recipe.detach(
        properties,
        "nccl.h",
        "metrale_nccl_table.h",
        "metrale_table.h",
        "metrale_nccl.h",
        "metrale_nccl_communicator.h");
  }

  @Override
  public void map(InfoMap map) {
    Recipe.table(map, "nccl");
    // The parser takes a conditional that it cannot evaluate as true: without this the bfloat16
    // type
    // would be left out of the list of data types.
    map.put(new Info("defined(__CUDA_BF16_TYPES_EXIST__)").define(true));
    // Not constants but expressions of C: as Java initialisers they do not compile.
    map.put(new Info("NCCL_COMM_NULL", "NCCL_CONFIG_UNDEF_PTR").cppTypes().annotations());
    // Brace lists; the constructors below do their work.
    map.put(
        new Info(
                "NCCL_CONFIG_INITIALIZER",
                "NCCL_SIM_INFO_INITIALIZER",
                "NCCL_COLLCONFIG_INITIALIZER",
                "NCCL_ENCRYPTION_CONFIG_INITIALIZER")
            .cppTypes()
            .annotations());
    // INT_MIN is unknown to the parser, so every "unset" would fail to compile.
    map.put(
        new Info("NCCL_CONFIG_UNDEF_INT")
            .javaText("public static final int NCCL_CONFIG_UNDEF_INT = Integer.MIN_VALUE;"));
    // Likewise INT_MAX.
    map.put(new Info("ncclNvlsHostModeDisable").translate(false));
    // A structure that refers to itself by its tag, for which there is no class.
    map.put(new Info("ncclConfigExt").pointerTypes("ncclConfigExt_t"));
    // Handles: without these each becomes a bare Pointer and the types cannot be told apart.
    Recipe.handle(map, "ncclComm_t", "ncclComm");
    Recipe.handle(map, "ncclWindow_t", "ncclWindow_vidmem");
    // The stream of rccl.h, where that takes the place of nccl.h.
    map.put(
        new Info("hipStream_t").valueTypes("CUstream_st").pointerTypes("@ByPtrPtr CUstream_st"));
    // Its name before 2.28.
    map.put(new Info("ncclWindow").pointerTypes("ncclWindow_vidmem"));
    Recipe.handle(map, "ncclParamHandle_t", "ncclParamHandle");
    // Fills an array of communicators.
    for (String prefix : new String[] {"", "p"}) {
      Recipe.fillsHandles(
          map,
          prefix + "ncclCommInitAll",
          "public static native @Cast(\"ncclResult_t\") int "
              + prefix
              + "ncclCommInitAll(@Cast(\"ncclComm**\") PointerPointer comm, int ndev, @Const NUMBERS"
              + " devlist);");
    }
    Recipe.throwNothing(map, Recipe.answering(Recipe.header(build, "nccl.h"), "ncclResult_t"));
    Recipe.throwNothing(
        map,
        List.of("metrale_nccl_submit_owned", "metrale_nccl_submit_again", "metrale_nccl_submit"));
    // Without an initialiser NCCL refuses the structure.
    Recipe.initialised(map, "ncclConfig_t", "size", SIZE, "metrale_initialize");
    Recipe.initialised(map, "ncclSimInfo_t", "size", SIZE, "metrale_initialize");
    Recipe.initialised(map, "ncclCollConfig_t", "size", SIZE, "metrale_initialize");
    Recipe.initialised(map, "ncclEncryptionConfig_t", "size", SIZE, "metrale_initialize");
  }
}
