package org.metrale.presets;

import org.bytedeco.javacpp.ClassProperties;
import org.bytedeco.javacpp.LoadEnabled;
import org.bytedeco.javacpp.annotation.Platform;
import org.bytedeco.javacpp.annotation.Properties;
import org.bytedeco.javacpp.tools.Info;
import org.bytedeco.javacpp.tools.InfoMap;
import org.bytedeco.javacpp.tools.InfoMapper;

/**
 * Recipe for NVTX 3, which is headers only: the tool's library is opened by the headers themselves.
 */
@Properties(
    value =
        @Platform(
            value = {"linux-x86_64", "linux-arm64"},
            compiler = "cpp17",
            include = {"nvtx3/nvToolsExt.h", "metrale_nvtx.h"},
            library = "jnimetralenvtx"),
    target = "org.metrale.nvtx",
    global = "org.metrale.global.nvtx")
public class nvtx implements InfoMapper, LoadEnabled {
  @Override
  public void init(ClassProperties properties) {
    Recipe.detach(properties, "nvtx3/nvToolsExt.h", "metrale_nvtx.h");
  }

  @Override
  public void map(InfoMap map) {
    map.put(new Info("METRALE_PARSER").define(true));
    // Linkage macros: taken for types, every function would be dropped.
    map.put(
        new Info(
                "NVTX_DECLSPEC",
                "NVTX_API",
                "NVTX_INLINE_STATIC",
                "__inline__",
                "NVTX_VERSIONED_IDENTIFIER")
            .cppTypes()
            .annotations());
    // Names that a macro turns into the A or W form: the forms themselves are bound.
    map.put(
        new Info(
                "nvtxMark",
                "nvtxRangeStart",
                "nvtxRangePush",
                "nvtxNameCategory",
                "nvtxNameOsThread",
                "nvtxDomainCreate",
                "nvtxDomainRegisterString",
                "nvtxDomainNameCategory")
            .skip());
    // Code, not values.
    map.put(
        new Info(
                "NVTX_DYNAMIC_EXPORT",
                "NVTX_EXPORT_UNMANGLED_FUNCTION_NAME",
                "NVTX_NULLPTR",
                "NVTX_SET_NAME_MANGLING_OPTIONS",
                "NVTX_REINTERPRET_CAST",
                "NVTX_RESOURCE_MAKE_TYPE")
            .skip());
    // A cast macro around plain numbers: without this its users are no constants.
    map.put(
        new Info("NVTX_STATIC_CAST")
            .cppText("#define NVTX_STATIC_CAST(type, value) (value)")
            .cppTypes());
    map.put(
        new Info("NVTX_NO_PUSH_POP_TRACKING")
            .javaText("public static final int NVTX_NO_PUSH_POP_TRACKING = -2;"));
    // Handles: without these the pointers to them cannot be told apart.
    map.put(new Info("nvtxDomainHandle_t").valueTypes("nvtxDomainRegistration"));
    map.put(new Info("nvtxResourceHandle_t").valueTypes("nvtxResourceHandle"));
    map.put(new Info("nvtxStringHandle_t").valueTypes("nvtxStringRegistration"));
  }
}
