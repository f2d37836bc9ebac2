package org.metrale.gpu.cufile;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.NativeLibrary;

/** Which way cuFile takes for a file, as far as the driver's properties tell. */
final class Routes {
  /** Numbers of CUfileDriverStatusFlags by file system. */
  private static final Map<String, Integer> STORAGE =
      Map.of("lustre", 0, "wekafs", 1, "nfs", 2, "gpfs", 3, "beegfs", 9);

  private static final int NVME = 4;

  /** Bit of CUfileP2PFlags. */
  private static final int P2PDMA = 1;

  /** Nothing lies on a disk here that a device could read by itself. */
  private static final Set<String> MEMORY =
      Set.of("tmpfs", "ramfs", "proc", "overlay", "9p", "fuse", "cifs", "smb3");

  private Routes() {}

  static CuFileRoute of(CuFileProperties properties, String fileSystem, boolean direct) {
    if (!direct || MEMORY.contains(fileSystem)) {
      return CuFileRoute.COMPAT;
    }
    int storage = STORAGE.getOrDefault(fileSystem, NVME);
    if (properties.nvidiaFsMajor() > 0 && properties.supportsStorage(storage)) {
      return CuFileRoute.GDS;
    }
    return properties.hasP2pDma() && p2p(storage) ? CuFileRoute.P2PDMA : CuFileRoute.COMPAT;
  }

  static boolean isMemory(String fileSystem) {
    return MEMORY.contains(fileSystem);
  }

  /** Whether the nvidia-fs module is loaded; a kernel without that list has none. */
  static boolean nvidiaFsLoaded() {
    try {
      return Files.readString(Path.of("/proc/modules"), StandardCharsets.ISO_8859_1)
          .lines()
          .anyMatch(line -> line.startsWith("nvidia_fs ") || line.startsWith("nvidia-fs "));
    } catch (IOException e) {
      return false;
    }
  }

  private static boolean p2p(int storage) {
    if (!NativeLibrary.CUFILE.supports("cuFileDriverGetP2PFlags")) {
      return true; // from before it could be said a storage
    }
    try {
      return (CuFileCalls.cuFileDriverGetP2PFlags(storage) & P2PDMA) != 0;
    } catch (GpuException e) {
      return false;
    }
  }
}
