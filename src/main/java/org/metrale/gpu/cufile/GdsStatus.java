package org.metrale.gpu.cufile;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.NativeLibrary;

/**
 * Why GPUDirect Storage is on or off for a file.
 *
 * @param file what was looked at
 * @param route the way that device memory would go
 * @param library cuFile's file and version, or an empty text
 * @param driver what opening cuFile's driver said, {@code open} or {@code not opened}
 * @param isEmulated whether the library is the software GPU host's: then everything here is of the
 *     machine that it describes, but for the file system and the page size
 * @param nvidiaFsLoaded whether the nvidia-fs module is loaded; of an emulated machine only
 *     cuFile's open driver tells, and without it this is false
 * @param nvidiaFsVersion what it says of itself, or an empty text
 * @param p2pDma whether cuFile can use the kernel's peer-to-peer DMA, empty if its driver is not
 *     open
 * @param compatAllowed whether cuFile may go through host memory, empty if its driver is not open
 * @param configuration the configuration file that cuFile reads, or an empty text if there is none
 * @param fileSystem the kind of the file's file system
 * @param directAlignmentBytes what direct transfers align to, 0 if the file system does not offer
 *     them, -1 if there is no such file
 * @param pageBytes the kernel's page size
 * @param reasons what keeps GPUDirect Storage off, in words; empty if it is on
 */
public record GdsStatus(
    Path file,
    CuFileRoute route,
    String library,
    String driver,
    boolean isEmulated,
    boolean nvidiaFsLoaded,
    String nvidiaFsVersion,
    Optional<Boolean> p2pDma,
    Optional<Boolean> compatAllowed,
    String configuration,
    String fileSystem,
    long directAlignmentBytes,
    long pageBytes,
    List<String> reasons) {
  /**
   * Looks without opening cuFile's driver.
   *
   * @param file the file, or a folder for files to come
   * @return what was found
   */
  public static GdsStatus look(Path file) {
    return look(file, null, "not opened", null, CuFileOptions.defaults().callTimeout());
  }

  static GdsStatus of(CuFileDriver driver, Path file) {
    Optional<GpuException> problem = driver.unavailabilityCause();
    Duration limit = driver.options().callTimeout();
    return problem.isPresent()
        ? look(file, null, problem.get().getMessage(), problem.get(), limit)
        : look(file, driver.properties(), "open", null, limit);
  }

  private static GdsStatus look(
      Path file, CuFileProperties properties, String driver, GpuException problem, Duration limit) {
    Storage storage = Storage.of(file, limit);
    boolean emulated = NativeLibrary.CUFILE.isEmulated();
    CuFileRoute route =
        properties == null
            ? CuFileRoute.POSIX
            : Routes.of(properties, storage.fileSystem, storage.alignment != 0);
    Optional<CuFileProperties> known = Optional.ofNullable(properties);
    return new GdsStatus(
        file,
        route,
        openedLibrary(),
        driver,
        emulated,
        emulated ? known.map(p -> p.nvidiaFsMajor() > 0).orElse(false) : Routes.nvidiaFsLoaded(),
        emulated ? emulatedVersion(known) : read(Path.of("/proc/driver/nvidia-fs/version")),
        known.map(CuFileProperties::hasP2pDma),
        known.map(CuFileProperties::isCompatAllowed),
        usedConfiguration(emulated),
        storage.fileSystem,
        storage.alignment,
        CuFileCalls.pageBytes(),
        reasons(route, known, problem, storage));
  }

  private static List<String> reasons(
      CuFileRoute route,
      Optional<CuFileProperties> properties,
      GpuException problem,
      Storage storage) {
    List<String> out = new ArrayList<>();
    if (route == CuFileRoute.GDS || route == CuFileRoute.P2PDMA) {
      return out;
    }
    if (problem != null) {
      out.add("cuFile is not in use: " + problem.getMessage());
    } else if (properties.isEmpty()) {
      out.add("cuFile's driver was not opened");
    }
    if (properties.isEmpty() && NativeLibrary.CUFILE.isEmulated()) {
      out.add("the machine is emulated, and only cuFile's open driver tells what it has");
    }
    boolean nvidiaFs =
        properties
            .map(p -> p.nvidiaFsMajor() > 0)
            .orElseGet(() -> NativeLibrary.CUFILE.isEmulated() || Routes.nvidiaFsLoaded());
    boolean p2p = properties.map(CuFileProperties::hasP2pDma).orElse(false);
    if (!nvidiaFs && !p2p) {
      out.add(
          "neither the nvidia-fs module is loaded nor peer-to-peer DMA switched on (use_pci_p2pdma"
              + " in cufile.json, and the driver's own setting)");
    }
    if (!storage.silence.isEmpty()) {
      out.add(storage.silence);
    }
    if (Routes.isMemory(storage.fileSystem)) {
      out.add("a device cannot read from " + storage.fileSystem + " by itself");
    }
    if (storage.alignment == 0) {
      out.add(storage.fileSystem + " refuses direct transfers (O_DIRECT)");
    }
    if (out.isEmpty()) {
      out.add("cuFile does not support GPUDirect Storage on " + storage.fileSystem + " here");
    }
    return out;
  }

  /**
   * What a file lies on.
   *
   * @param silence what to say if the file system has not answered in time, or an empty text
   */
  private record Storage(String fileSystem, long alignment, String silence) {
    /** Asks in a thread that may be left behind: a file system of the network may not answer. */
    static Storage of(Path file, Duration limit) {
      CompletableFuture<Storage> answer = BoundedCall.start(() -> of(file));
      try {
        return BoundedCall.await(answer, limit);
      } catch (TimeoutException e) {
        return new Storage("unknown", -1, "its file system has not answered in " + limit);
      }
    }

    private static Storage of(Path file) {
      if (Files.isRegularFile(file)) {
        try {
          OpenFile open = OpenFile.open(file, Set.of());
          try {
            return new Storage(open.fileSystem(), open.offsetAlignment(), "");
          } finally {
            open.close();
          }
        } catch (GpuException e) {
          return new Storage(FileSystems.ofFolder(file), -1, ""); // it may not be read
        }
      }
      return new Storage(FileSystems.ofFolder(file), -1, "");
    }
  }

  private static String openedLibrary() {
    return NativeLibrary.CUFILE
        .file()
        .map(path -> path + " " + NativeLibrary.CUFILE.version().orElse("of unknown version"))
        .orElse("");
  }

  private static String emulatedVersion(Optional<CuFileProperties> properties) {
    return properties
        .filter(p -> p.nvidiaFsMajor() > 0)
        .map(p -> "EMULATED " + p.nvidiaFsMajor() + "." + p.nvidiaFsMinor())
        .orElse("");
  }

  private static String usedConfiguration(boolean emulated) {
    String named = System.getenv("CUFILE_ENV_PATH_JSON");
    if (named != null) {
      return named;
    }
    Path usual = Path.of("/etc/cufile.json");
    return !emulated && Files.isReadable(usual) ? usual.toString() : "";
  }

  private static String read(Path file) {
    try {
      return Files.readString(file, StandardCharsets.ISO_8859_1).strip();
    } catch (IOException e) {
      return "";
    }
  }

  @Override
  public String toString() {
    StringBuilder out = new StringBuilder();
    line(out, "file", file + " (" + fileSystem + ")");
    line(out, "route", route.toString());
    line(out, "cuFile", library.isEmpty() ? "not available" : library);
    line(out, "driver", driver);
    line(out, "nvidia-fs", nvidiaFs());
    line(out, "peer-to-peer DMA", p2pDma.map(on -> on ? "yes" : "no").orElse("unknown"));
    line(out, "compatible mode", compatAllowed.map(on -> on ? "yes" : "no").orElse("unknown"));
    line(out, "configuration", configuration.isEmpty() ? "built in" : configuration);
    line(
        out,
        "direct transfers",
        directAlignmentBytes < 0
            ? "unknown"
            : directAlignmentBytes == 0 ? "no" : "aligned to " + directAlignmentBytes);
    line(out, "page size", Long.toString(pageBytes));
    reasons.forEach(reason -> line(out, "off because", reason));
    return out.toString();
  }

  private String nvidiaFs() {
    if (nvidiaFsLoaded) {
      return "loaded " + nvidiaFsVersion;
    }
    if (!isEmulated) {
      return "not loaded";
    }
    return p2pDma.isPresent() ? "not loaded EMULATED" : "unknown: the machine is emulated";
  }

  private static void line(StringBuilder out, String name, String value) {
    out.append(name).append(": ").append(value).append(System.lineSeparator());
  }
}
