package org.metrale.gpu.nvml;

import java.nio.file.Path;
import java.util.Optional;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.NativeLibrary;

/** Whether NVML can be used by this process, and on this machine. */
public final class NvmlLibrary {
  private NvmlLibrary() {}

  /**
   * Whether the library is here.
   *
   * @return false if it is not; {@link #unavailabilityCause()} says why
   */
  public static boolean isAvailable() {
    return NativeLibrary.NVML.isAvailable();
  }

  /**
   * Makes sure that the library is here.
   *
   * @throws LibraryUnavailableException if it is not; the message lists every place tried
   */
  public static void require() {
    NativeLibrary.NVML.require();
  }

  /**
   * Why the library is not here.
   *
   * @return the reason, or empty if it is here
   */
  public static Optional<LibraryUnavailableException> unavailabilityCause() {
    return NativeLibrary.NVML.unavailabilityCause();
  }

  /**
   * Why NVML does not work on this machine, although the library may be here.
   *
   * <p><b>Blocking:</b> starts and stops NVML, which can take seconds where no other process uses
   * the driver.
   *
   * @return what failed: the library, or {@code nvmlInit_v2} with its code (9 where no driver is
   *     loaded); empty if it works
   * @wraps {@code nvmlInit_v2}, {@code nvmlShutdown}; nvml.h
   */
  public static Optional<GpuException> failureCause() {
    try (Nvml session = Nvml.open()) {
      session.deviceCount();
      return Optional.empty();
    } catch (GpuException e) {
      return Optional.of(e);
    }
  }

  /**
   * Whether the library has a function.
   *
   * @param function the C name, for example {@code nvmlDeviceGetMemoryInfo_v2}
   * @return false if the library or the function is absent
   */
  public static boolean supports(String function) {
    return NativeLibrary.NVML.supports(function);
  }

  /**
   * The file that was opened.
   *
   * @return its path, or empty if the library is not available
   */
  public static Optional<Path> file() {
    return NativeLibrary.NVML.file();
  }

  /**
   * Opens a given file instead of searching.
   *
   * @param file the library's file
   * @throws LibraryUnavailableException if the file cannot be used; nothing else is tried
   * @throws IllegalStateException if another file is open already
   */
  public static void open(Path file) {
    NativeLibrary.NVML.open(file);
  }

  /**
   * NVML's own version, which it tells without a session.
   *
   * <p><b>Blocking:</b> at most {@link NvmlOptions#callTimeout()} of the usual options.
   *
   * @return for example {@code 13.610.43.02}; empty if the library is absent or does not tell
   * @throws NvmlException if it has not answered in time
   * @wraps {@code nvmlSystemGetNVMLVersion}; nvml.h
   */
  public static Optional<String> version() {
    return isAvailable()
        ? NvmlCallers.within(
            NvmlOptions.defaults().callTimeout(),
            new NvmlCallers.Call(NvmlTextQuery.NVML.call(), ""),
            () -> NvmlCalls.metrale_nvml_text(0, NvmlTextQuery.NVML, 0).toOptional(),
            () -> {},
            late -> {})
        : Optional.empty();
  }
}
