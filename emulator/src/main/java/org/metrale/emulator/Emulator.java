package org.metrale.emulator;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/**
 * A running software GPU host: its libraries unpacked into a folder of their own, with the description of
 * the machine beside them.
 *
 * <p>Start it before anything of CUDA, NCCL, NVML, cuFile or verbs is touched: a library that is open is not
 * exchanged. Everything that comes from it is marked EMULATED by the library's version and by the doctor.
 */
public final class Emulator implements AutoCloseable {
  /** The property that names the folder libraries are taken from. */
  public static final String LIBRARY_PATH_PROPERTY = "org.metrale.library.path";

  /** The environment variable that does the same for a child process. */
  public static final String LIBRARY_PATH_VARIABLE = "METRALE_LIBRARY_PATH";

  private static final List<String> LIBRARIES =
      List.of(
          "libcuda.so.1",
          "libnccl.so.2",
          "libnvidia-ml.so.1",
          "libcufile.so.0",
          "libibverbs.so.1");

  private final Path folder;

  private Emulator(Path folder) {
    this.folder = folder;
  }

  /**
   * Begins the description of a machine.
   *
   * @return a description of the default machine, to be changed
   */
  public static Machine machine() {
    return new Machine();
  }

  /**
   * The folder with the libraries.
   *
   * @return an absolute path, valid until this is closed
   */
  public Path folder() {
    return folder;
  }

  /**
   * What a child process needs in its environment to use the same machine.
   *
   * @return variables to add
   */
  public Map<String, String> environment() {
    return Map.of(LIBRARY_PATH_VARIABLE, folder.toString());
  }

  /**
   * Removes the unpacked files and stops naming the folder. Libraries that are open already stay open. A
   * second close does nothing.
   *
   * @throws UncheckedIOException if a file cannot be removed
   */
  @Override
  public void close() {
    System.getProperties().remove(LIBRARY_PATH_PROPERTY, folder.toString());
    if (!Files.isDirectory(folder)) {
      return;
    }
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(file);
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Override
  public String toString() {
    return "software GPU host in " + folder;
  }

  /** What the machine is to be: lines of the emulator's configuration. */
  public static final class Machine {
    private final List<String> lines = new ArrayList<>();

    private Machine() {}

    /**
     * Sets how many GPUs there are and of which kind.
     *
     * @param count 0 for a machine without any
     * @param kind {@code h200}, {@code gb10}, {@code gb200} or {@code a100-mig}
     * @return this
     */
    public Machine gpus(int count, String kind) {
      return set("gpus", Integer.toString(count)).set("gpu.kind", kind);
    }

    /**
     * Sets any key of the configuration; a key that may be given several times adds up.
     *
     * @param key as in the emulator's README
     * @param value its value, without line breaks
     * @return this
     * @throws IllegalArgumentException if key or value cannot stand in a line
     */
    public Machine set(String key, String value) {
      Objects.requireNonNull(key, "key");
      Objects.requireNonNull(value, "value");
      if (key.isBlank() || (key + value).chars().anyMatch(c -> c == '\n' || c == '\r' || c == '#')) {
        throw new IllegalArgumentException("cannot stand in a line: " + key + " = " + value);
      }
      lines.add(key + " = " + value);
      return this;
    }

    /**
     * Adds a fault.
     *
     * @param fault for example {@code nccl.ncclAllReduce rank=1 call=3 kill}
     * @return this
     */
    public Machine fault(String fault) {
      return set("fault", fault);
    }

    /**
     * Unpacks the libraries and makes this process use them.
     *
     * @return the running host; close it to remove its files
     * @throws IllegalStateException if another library path is set already, or if the jar with this
     *     platform's libraries is not on the class path
     * @throws UncheckedIOException if the files cannot be written
     */
    public Emulator start() {
      try {
        Emulator emulator = new Emulator(unpack());
        String other =
            (String)
                System.getProperties()
                    .putIfAbsent(LIBRARY_PATH_PROPERTY, emulator.folder.toString());
        if (other != null) {
          emulator.close();
          throw new IllegalStateException(LIBRARY_PATH_PROPERTY + " is set already: " + other);
        }
        return emulator;
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private Path unpack() throws IOException {
      String platform =
          "aarch64".equals(System.getProperty("os.arch")) ? "linux-arm64" : "linux-x86_64";
      Path folder = Files.createTempDirectory("metrale-emulator-");
      for (String library : LIBRARIES) {
        String resource = "/org/metrale/emulator/" + platform + "/" + library;
        try (InputStream in = Emulator.class.getResourceAsStream(resource)) {
          if (in == null) {
            new Emulator(folder).close();
            throw new IllegalStateException(
                resource + " is not on the class path: add the jar with the classifier " + platform
                    + "-cuda");
          }
          Files.copy(in, folder.resolve(library));
        }
      }
      Files.write(folder.resolve("emulator.conf"), lines);
      return folder.toAbsolutePath();
    }
  }
}
