package org.metrale.gpu.cufile;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cufile.CuFileException.Where;

/**
 * cuFile's driver, which a process opens once and closes once whoever asks: opened for the first,
 * closed for the last.
 */
final class DriverDoor {
  private static final DriverDoor INSTANCE = new DriverDoor();
  private static final Path MODULES = Path.of("/proc/modules");

  private int users;

  /** An opening that did not come back in time; nothing can be asked of the driver any more. */
  private boolean stuck;

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
    if (!NativeLibrary.CUFILE.isEmulated() && !Files.isReadable(MODULES)) {
      // Seen with 1.20: it reads that file in a loop that then never ends.
      return CuFileException.of(
          "cuFileDriverOpen",
          CuFileResult.PLATFORM_NOT_SUPPORTED,
          Where.note("not called: " + MODULES + " cannot be read, and cuFile would not return"));
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

  synchronized void close() {
    if (--users == 0) {
      CuFileCalls.cuFileDriverClose();
    }
  }

  private GpuException openWithin(CuFileOptions options) {
    Attempt attempt = new Attempt();
    try {
      if (!stuck) {
        Thread thread = new Thread(attempt, "metrale-cufile-open");
        thread.setDaemon(true);
        thread.start();
        if (attempt.over.await(options.openTimeout().toMillis(), TimeUnit.MILLISECONDS)) {
          return attempt.problem;
        }
        stuck = true;
      }
    } catch (InterruptedException e) {
      stuck = true;
      Thread.currentThread().interrupt();
    }
    return CuFileException.of(
        "cuFileDriverOpen",
        CuFileResult.DRIVER_NOT_INITIALIZED,
        Where.note("has not returned in " + options.openTimeout()));
  }

  /** One call, by a thread that may be left behind. */
  private static final class Attempt implements Runnable {
    private final CountDownLatch over = new CountDownLatch(1);
    private GpuException problem;

    @Override
    public void run() {
      try {
        CuFileCalls.cuFileDriverOpen(Where.NOWHERE);
      } catch (GpuException e) {
        problem = e;
      } finally {
        over.countDown();
      }
    }
  }
}
