package org.metrale.presets;

import org.bytedeco.javacpp.ClassProperties;
import org.bytedeco.javacpp.LoadEnabled;
import org.bytedeco.javacpp.annotation.Platform;
import org.bytedeco.javacpp.annotation.Properties;
import org.bytedeco.javacpp.tools.Info;
import org.bytedeco.javacpp.tools.InfoMap;
import org.bytedeco.javacpp.tools.InfoMapper;

/**
 * Recipe for {@code metrale_ibv.h}, the flat interface of our own over {@code infiniband/verbs.h},
 * whose inline functions, unions and bit fields no generator maps.
 */
@Properties(
    value =
        @Platform(
            value = {"linux-x86_64", "linux-arm64"},
            compiler = "cpp17",
            include = {"metrale_ibv.h", "metrale_verbs_table.h", "metrale_table.h"},
            library = "jnimetraleverbs"),
    target = "org.metrale.verbs",
    global = "org.metrale.global.verbs")
public class verbs implements InfoMapper, LoadEnabled {
  @Override
  public void init(ClassProperties properties) {
    Recipe.detach(properties, "metrale_ibv.h", "metrale_verbs_table.h", "metrale_table.h");
  }

  @Override
  public void map(InfoMap map) {
    Recipe.table(map, "ibverbs");
    // A linkage macro: taken for a type, every function would be dropped.
    map.put(new Info("METRALE_API").cppTypes().annotations());
    // Handles of libibverbs: without these each becomes a bare Pointer and they cannot be told
    // apart.
    for (String kind :
        new String[] {"device", "context", "pd", "mr", "comp_channel", "cq", "srq", "qp"}) {
      String type = "ibv_" + kind;
      map.put(
          new Info(type + "*")
              .valueTypes(type)
              .pointerTypes("@ByPtrPtr " + type, "@Cast(\"" + type + "**\") PointerPointer"));
    }
  }
}
