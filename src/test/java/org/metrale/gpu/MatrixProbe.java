package org.metrale.gpu;

import java.util.List;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.Loader;
import org.bytedeco.javacpp.PointerScope;
import org.metrale.cufile.CUfileDescr_t;
import org.metrale.cufile.CUfileDrvProps_t;
import org.metrale.cufile.CUfileError_t;
import org.metrale.cufile.CUfileIOEvents_t;
import org.metrale.cufile.CUfileIOParams_t;
import org.metrale.global.cuda;
import org.metrale.global.cufile;
import org.metrale.global.nccl;
import org.metrale.global.nvml;
import org.metrale.gpu.nccl.ConfigStamp;
import org.metrale.nccl.ncclUniqueId;

/** Asks the library that its argument names all that it answers without a device. */
final class MatrixProbe {
  private MatrixProbe() {}

  public static void main(String[] arguments) {
    NativeLibrary library = NativeLibrary.named(arguments[0]);
    library.require();
    print("file", library.file().orElseThrow());
    print("version", library.version().orElse("none"));
    List<String> missing = library.missingFunctions();
    for (String function : library.functions()) {
      if (library.supports(function) == missing.contains(function)) {
        throw new AssertionError(function + " is supported and missing");
      }
      print(library.supports(function) ? "has" : "lacks", function);
    }
    try (PointerScope ignored = scope()) {
      switch (library.name()) {
        case "nccl" -> nccl();
        case "cuda" -> cuda();
        case "nvml" -> nvml();
        default -> cuFile();
      }
    }
  }

  private static PointerScope scope() {
    return new PointerScope();
  }

  private static void nccl() {
    ncclUniqueId first = new ncclUniqueId();
    ncclUniqueId second = new ncclUniqueId();
    print("uniqueId", nccl.ncclGetUniqueId(first) + " " + nccl.ncclGetUniqueId(second));
    print("uniqueIdsDiffer", !bytes(first).equals(bytes(second)));
    for (int code = 0; code <= 7; code++) {
      print("text", nccl.ncclGetErrorString(code).getString());
    }
    print("sizeof ncclConfig_t", ConfigStamp.bytes(NativeLibrary.NCCL.versionCode().orElseThrow()));
    print("sizeof ncclUniqueId", first.sizeof());
  }

  private static String bytes(ncclUniqueId id) {
    byte[] out = new byte[id.sizeof()];
    new BytePointer(id).get(out);
    return java.util.Arrays.toString(out);
  }

  private static void cuda() {
    print("cuInit", cuda.cuInit(0));
    BytePointer text = new BytePointer((BytePointer) null);
    print("cuGetErrorName", cuda.cuGetErrorName(100, text));
    print("text", text.getString());
  }

  private static void nvml() {
    print("nvmlInit_v2", nvml.nvmlInit_v2());
    print("text", nvml.nvmlErrorString(9).getString());
  }

  private static void cuFile() {
    print("text", cufile.cufileop_status_error(5033).getString());
    print("sizeof CUfileError_t", Loader.sizeof(CUfileError_t.class));
    print("sizeof CUfileDescr_t", Loader.sizeof(CUfileDescr_t.class));
    print("sizeof CUfileDrvProps_t", Loader.sizeof(CUfileDrvProps_t.class));
    print("sizeof CUfileIOParams_t", Loader.sizeof(CUfileIOParams_t.class));
    print("sizeof CUfileIOEvents_t", Loader.sizeof(CUfileIOEvents_t.class));
  }

  private static void print(String key, Object value) {
    System.out.println(key + "=" + value);
  }
}
