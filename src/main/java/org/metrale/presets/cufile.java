package org.metrale.presets;

import org.bytedeco.cuda.presets.cudart;
import org.bytedeco.javacpp.ClassProperties;
import org.bytedeco.javacpp.LoadEnabled;
import org.bytedeco.javacpp.annotation.Platform;
import org.bytedeco.javacpp.annotation.Properties;
import org.bytedeco.javacpp.tools.Info;
import org.bytedeco.javacpp.tools.InfoMap;
import org.bytedeco.javacpp.tools.InfoMapper;

/** Recipe for {@code cufile.h}. */
@Properties(
    inherit = cudart.class,
    value =
        @Platform(
            value = {"linux-x86_64", "linux-arm64"},
            compiler = "cpp17",
            include = {
              "cufile.h",
              "metrale_cufile_table.h",
              "metrale_table.h",
              "metrale_cufile.h",
              "metrale_cufile_batch.h",
              "metrale_cufile_facts.h",
              "metrale_file.h"
            },
            library = "jnimetralecufile"),
    target = "org.metrale.cufile",
    global = "org.metrale.global.cufile")
public class cufile implements InfoMapper, LoadEnabled {
  @Override
  public void init(ClassProperties properties) {
    Recipe.detach(
        properties,
        "cufile.h",
        "metrale_cufile_table.h",
        "metrale_table.h",
        "metrale_cufile.h",
        "metrale_cufile_batch.h",
        "metrale_cufile_facts.h",
        "metrale_file.h");
  }

  @Override
  public void map(InfoMap map) {
    Recipe.table(map, "cufile");
    // Macros that expand to code: taken as values they do not compile.
    map.put(new Info("CUFILE_OP", "CUFILEOP_STATUS_ENTRIES").cppTypes().annotations());
    map.put(
        new Info("CUresult")
            .cast()
            .valueTypes("int")
            .pointerTypes("IntPointer", "IntBuffer", "int[]")); // an object of bytedeco otherwise
    // Values built from shifts of other enumerators: not constants in Java.
    map.put(
        new Info(
                "CU_FILE_P2P_FLAG_PCI_P2PDMA",
                "CU_FILE_P2P_FLAG_NVFS",
                "CU_FILE_P2P_FLAG_DMABUF",
                "CU_FILE_P2P_FLAG_C2C")
            .translate(false));
    // Types of the C library that JavaCPP has no class for.
    map.put(new Info("timespec", "loff_t").cast().pointerTypes("Pointer"));
    // A channel's descriptor can be had by JNI alone.
    map.put(
        new Info("metrale_file_of_channel")
            .javaText(
                "public static native int metrale_file_of_channel("
                    + "@Raw(withEnv = true) Object channel);"));
    // Text for messages: no pointer object is wanted.
    map.put(
        new Info("metrale_errno_name")
            .javaText("public static native String metrale_errno_name(int number);"));
    map.put(
        new Info("metrale_errno_text")
            .javaText("public static native String metrale_errno_text(int number);"));
  }
}
