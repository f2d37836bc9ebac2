package org.metrale.gpu.cufile;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.metrale.gpu.Backoff;
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
  private static final int FIRST_THAT_LOOPS = 1160;

  private int users;

  /** An opening that nobody has seen the end of; the next one to open waits for it too. */
  private Attempt opening;

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
    if (wouldNotReturn()) {
      return CuFileException.of(
          "cuFileDriverOpen",
          CuFileResult.DRIVER_NOT_INITIALIZED,
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

  /**
   * Without the kernel's list of modules cuFile reads it in a loop that never ends; seen with 1.17
   * and 1.20, not with 1.15.
   */
  private static boolean wouldNotReturn() {
    return !Files.isReadable(MODULES)
        && !NativeLibrary.CUFILE.isEmulated()
        && NativeLibrary.CUFILE.versionCode().orElse(0) >= FIRST_THAT_LOOPS;
  }

  synchronized void close() {
    if (--users == 0) {
      CuFileCalls.cuFileDriverClose();
    }
  }

  private GpuException openWithin(CuFileOptions options) {
    if (opening == null) {
      opening = new Attempt();
      Thread thread = new Thread(opening, "metrale-cufile-open");
      thread.setDaemon(true);
      thread.start();
    }
    String why = "has not returned in " + options.openTimeout();
    try {
      // One wait is enough; after that it only counts whether it has come back meanwhile.
      long limit = opening.late ? 0 : Backoff.nanos(options.openTimeout());
      if (opening.over.await(limit, TimeUnit.NANOSECONDS)) {
        Attempt ended = opening;
        opening = null;
        return ended.answer();
      }
      opening.late = true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      why = "this thread was interrupted while it waited";
    }
    return CuFileException.of(
        "cuFileDriverOpen", CuFileResult.DRIVER_NOT_INITIALIZED, Where.note(why));
  }

  /** One call, by a thread that may be left behind. */
  private static final class Attempt implements Runnable {
    private final CountDownLatch over = new CountDownLatch(1);
    private RuntimeException problem;

    /** Somebody has waited for it in vain; guarded by the door. */
    private boolean late;

    @Override
    public void run() {
      try {
        CuFileCalls.cuFileDriverOpen(Where.NOWHERE);
      } catch (RuntimeException e) {
        problem = e;
      } finally {
        over.countDown();
      }
    }

    /** Null, or why cuFile's driver cannot be used. */
    private GpuException answer() {
      if (problem == null || problem instanceof GpuException) {
        return (GpuException) problem;
      }
      throw problem;
    }
  }
}
