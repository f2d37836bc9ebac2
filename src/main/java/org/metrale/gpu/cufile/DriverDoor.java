package org.metrale.gpu.cufile;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cuda.CudaDriver;
import org.metrale.gpu.cuda.CudaException;
import org.metrale.gpu.cufile.CuFileException.Where;

/**
 * cuFile's driver, which a process opens once and closes once whoever asks: opened for the first,
 * closed for the last.
 */
final class DriverDoor {
  private static final DriverDoor INSTANCE = new DriverDoor();
  private static final Path MODULES = Path.of("/proc/modules");
  private static final int FIRST_THAT_LOOPS = 1160;

  private int users;

  /** A call that nobody has seen the end of; the next one to open waits for it too. */
  private Attempt underWay;

  private DriverDoor() {}

  static DriverDoor instance() {
    return INSTANCE;
  }

  /** Answers null, or why cuFile's driver cannot be used. */
  synchronized GpuException open(CuFileOptions options) {
    options
        .logFolder()
        .ifPresent(
            // A file that the user named stays: only an unset variable is set.
            folder ->
                CuFileCalls.setVariable(
                    "CUFILE_LOGFILE_PATH", folder.resolve("cufile.log").toString()));
    if (!NativeLibrary.CUFILE.isAvailable()) {
      return NativeLibrary.CUFILE.unavailabilityCause().orElseThrow();
    }
    if (users == 0) {
      GpuException problem = openWithin(options);
      if (problem != null) {
        return problem;
      }
    }
    users++;
    return null;
  }

  /** Closes for one user; the last one closes cuFile's driver, which may take its time. */
  synchronized void close(CuFileOptions options) {
    if (--users == 0) {
      underWay = new Attempt(false, CuFileCalls::cuFileDriverClose);
      GpuException problem = endOf("cuFileDriverClose", options);
      if (problem != null) {
        throw problem;
      }
    }
  }

  private GpuException openWithin(CuFileOptions options) {
    if (underWay != null && !underWay.opens) {
      GpuException unfinished = endOf("cuFileDriverClose", options);
      if (underWay != null) {
        return unfinished; // still closing
      }
    }
    if (underWay == null) {
      underWay = new Attempt(true, DriverDoor::openThere);
    }
    return endOf("cuFileDriverOpen", options);
  }

  /**
   * Opens cuFile's driver if there is a device. Without one it does not open, and writes that to
   * standard output and into its log, whatever its settings say.
   */
  private static void openThere() {
    try {
      if (CudaDriver.deviceCount() == 0) {
        throw noDevice(0, "CUDA counts no device", null);
      }
    } catch (CudaException e) {
      throw noDevice(e.code(), e.getMessage(), e);
    } catch (LibraryUnavailableException e) {
      // The places that were tried are in the cause.
      throw noDevice(0, NativeLibrary.CUDA + " is not available", e);
    }
    if (wouldNotReturn()) {
      throw CuFileException.of(
          "cuFileDriverOpen",
          CuFileResult.DRIVER_NOT_INITIALIZED,
          Where.note("not called: " + MODULES + " cannot be read, and cuFile would not return"));
    }
    CuFileCalls.cuFileDriverOpen(Where.NOWHERE);
  }

  /**
   * Without the kernel's list of modules cuFile reads it in a loop that never ends; seen with 1.17
   * and 1.20, not with 1.15.
   */
  private static boolean wouldNotReturn() {
    return !Files.isReadable(MODULES)
        && !NativeLibrary.CUFILE.isEmulated()
        && NativeLibrary.CUFILE.versionCode().orElse(0) >= FIRST_THAT_LOOPS;
  }

  private static CuFileException noDevice(int cudaCode, String why, GpuException cause) {
    CuFileException out =
        CuFileException.ofPacked(
            "cuFileDriverOpen",
            (long) cudaCode << Integer.SIZE | CuFileResult.CUDA_DRIVER_ERROR.code(),
            Where.note("not called: " + why));
    out.initCause(cause);
    return out;
  }

  /**
   * Waits for the call under way, through interrupts, which are kept for later; null if it
   * succeeded, else why cuFile's driver cannot be used.
   */
  private GpuException endOf(String call, CuFileOptions options) {
    // One wait is enough; after that it only counts whether it has come back meanwhile.
    Duration limit = underWay.late ? Duration.ZERO : options.callTimeout();
    boolean over = true;
    try {
      BoundedCall.await(underWay.over, limit);
      return null;
    } catch (GpuException e) {
      return e;
    } catch (TimeoutException e) {
      over = false;
      underWay.late = true;
      return CuFileException.of(
          call,
          CuFileResult.DRIVER_NOT_INITIALIZED,
          Where.note("has not returned in " + options.callTimeout()));
    } finally {
      underWay = over ? null : underWay;
    }
  }

  /** One call, by a thread that may be left behind. */
  private static final class Attempt {
    /** Whether it opens the driver, else it closes it. */
    private final boolean opens;

    private final CompletableFuture<Boolean> over;

    /** Somebody has waited for it in vain. */
    private boolean late;

    Attempt(boolean opens, Runnable call) {
      this.opens = opens;
      Supplier<Boolean> work =
          () -> {
            call.run();
            return true;
          };
      this.over = opens ? BoundedCall.start(work) : BoundedCall.startOrRun(work);
    }
  }
}
