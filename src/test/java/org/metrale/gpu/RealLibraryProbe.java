package org.metrale.gpu;

import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.metrale.cufile.CUfileError_t;
import org.metrale.global.cuda;
import org.metrale.global.cufile;
import org.metrale.global.nccl;
import org.metrale.global.nvml;
import org.metrale.nccl.ncclComm;
import org.metrale.nccl.ncclUniqueId;

/** Asks a real library, in a JVM of its own, what it can answer without a GPU. */
final class RealLibraryProbe {
  private RealLibraryProbe() {}

  public static void main(String[] arguments) {
    NativeLibrary library = NativeLibrary.named(arguments[0]);
    library.require();
    print("file", library.file().orElseThrow());
    print("version", library.version().orElse("none"));
    List<String> missing = library.missingFunctions();
    print("missing", missing.size());
    for (String function : library.functions()) {
      if (library.supports(function) == missing.contains(function)) {
        print("contradiction", function);
      }
      print(library.supports(function) ? "has" : "lacks", function);
    }
    switch (library.name()) {
      case "cuda" -> print("cuInit", cuda.cuInit(0));
      case "nccl" -> nccl();
      case "nvml" -> print("nvmlInit_v2", nvml.nvmlInit_v2());
      default -> cuFile();
    }
  }

  @SuppressWarnings("try") // the scope is there for what is allocated in it
  private static void nccl() {
    try (PointerScope scope = new PointerScope()) {
      ncclUniqueId id = new ncclUniqueId();
      try {
        print("ncclGetUniqueId", nccl.ncclGetUniqueId(id));
      } catch (LibraryThrewException e) {
        print("ncclGetUniqueId", e.getMessage());
      }
      print("ncclCommInitRank", nccl.ncclCommInitRank(new ncclComm(), 1, id, 0));
      print("text", nccl.ncclGetErrorString(1).getString());
    }
    try {
      print("ncclCommSuspend", nccl.ncclCommSuspend(new ncclComm(), 0));
    } catch (LibraryUnavailableException e) {
      print("suspend", e.getMessage());
    }
  }

  @SuppressWarnings("try") // the scope is there for what is allocated in it
  private static void cuFile() {
    try (PointerScope scope = new PointerScope()) {
      CUfileError_t error = cufile.cuFileDriverOpen();
      print("cuFileDriverOpen", error.err() + " " + error.cu_err());
    }
  }

  private static void print(String key, Object value) {
    System.out.println(key + "=" + value);
  }
}
