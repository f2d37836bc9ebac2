package org.metrale.benchmarks;

import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;
import org.metrale.cufile.CUfileDescr_t;
import org.metrale.cufile.CUfileHandle_t;
import org.metrale.global.cufile;
import org.metrale.gpu.NativeLibrary;

/**
 * The same reads by the raw layer, by the other binding and by Java's own interface: the one call,
 * on a handle that stays open until the process ends.
 */
final class OtherReads {
  /** Reads at an offset of the file into the same offset of the memory. */
  interface Reader {
    /** Answers how many bytes were read. */
    long read(long at, int size);
  }

  /** Constants, as a compiler needs them. */
  static final class Handles {
    static final MethodHandle READ = read(false);
    static final MethodHandle READ_CRITICAL = read(true);

    private Handles() {}

    private static MethodHandle read(boolean critical) {
      return Foreign.function(
          NativeLibrary.CUFILE.file().orElseThrow(),
          "cuFileRead",
          critical,
          long.class,
          long.class,
          long.class,
          long.class,
          long.class,
          long.class);
    }
  }

  /** Memory that is not this process's to look at. */
  private static final class Device extends Pointer {
    Device(long start) {
      super((Pointer) null);
      this.address = start;
    }
  }

  /** Apart: a machine with a GPU may have these probes and not the other binding. */
  private static final class Theirs {
    private Theirs() {}

    static Reader reader(Pointer ours, Pointer memory) {
      // It links libraries by their names, which these files take; of the run-time it calls
      // nothing.
      System.load(NativeLibrary.CUFILE.file().orElseThrow().toString());
      NoOp.map("libcudart.so.13");
      var handle = new org.bytedeco.cuda.cufile.CUfileHandle_t(ours);
      return (at, size) -> org.bytedeco.cuda.global.cufile.cuFileRead(handle, memory, size, at, at);
    }
  }

  private OtherReads() {}

  /** By whom, and how; opens the file for them and registers the memory. */
  static Map<String, Reader> of(Path file, long start) {
    require(cufile.cuFileDriverOpen().err());
    CUfileDescr_t description = new CUfileDescr_t();
    description.zero();
    description.type(cufile.CU_FILE_HANDLE_TYPE_OPAQUE_FD);
    description.handle_fd(descriptor(file));
    CUfileHandle_t handle = new CUfileHandle_t();
    require(cufile.cuFileHandleRegister(handle, description).err());
    Pointer memory = new Device(start);
    require(cufile.cuFileBufRegister(memory, ReadsProbe.BYTES, 0).err());

    Map<String, Reader> out = new LinkedHashMap<>();
    out.put("raw", (at, size) -> cufile.cuFileRead(handle, memory, size, at, at));
    if (NoOp.isHere()) {
      out.put("bytedeco", Theirs.reader(handle, memory));
    }
    if (Foreign.isIn(String.valueOf(Runtime.version().feature()))) {
      long address = handle.address();
      out.put("ffm", (at, size) -> usual(address, start, size, at));
      out.put("ffmCritical", (at, size) -> critical(address, start, size, at));
    }
    return out;
  }

  private static long usual(long handle, long memory, long size, long at) {
    try {
      return (long) Handles.READ.invokeExact(handle, memory, size, at, at);
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static long critical(long handle, long memory, long size, long at) {
    try {
      return (long) Handles.READ_CRITICAL.invokeExact(handle, memory, size, at, at);
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  /** As the loop in C opens it. */
  private static int descriptor(Path file) {
    byte[] path = (file + "\0").getBytes(StandardCharsets.UTF_8);
    int fd = cufile.metrale_file_open(path, cufile.METRALE_FILE_READ | cufile.METRALE_FILE_DIRECT);
    fd = fd < 0 ? cufile.metrale_file_open(path, cufile.METRALE_FILE_READ) : fd;
    require(Math.min(fd, 0));
    return fd;
  }

  private static void require(int code) {
    if (code != 0) {
      throw new IllegalStateException("code " + code);
    }
  }
}
