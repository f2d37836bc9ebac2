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

  /** Closes for one user; the last one closes cuFile's driver, which may take its time. */
  synchronized void close(CuFileOptions options) {
    if (--users == 0) {
      underWay = new Attempt(CuFileCalls::cuFileDriverClose);
      underWay.start("metrale-cufile-close");
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
      underWay = new Attempt(() -> CuFileCalls.cuFileDriverOpen(Where.NOWHERE));
      underWay.opens = true;
      underWay.start("metrale-cufile-open");
    }
    return endOf("cuFileDriverOpen", options);
  }

  /**
   * Waits for the call under way, through interrupts, which are kept for later; null if it
   * succeeded, else why cuFile's driver cannot be used.
   */
  private GpuException endOf(String call, CuFileOptions options) {
    // One wait is enough; after that it only counts whether it has come back meanwhile.
    long limit = underWay.late ? 0 : Backoff.nanos(options.openTimeout());
    if (underWay.isOverWithin(limit)) {
      Attempt ended = underWay;
      underWay = null;
      return ended.answer();
    }
    underWay.late = true;
    return CuFileException.of(
        call,
        CuFileResult.DRIVER_NOT_INITIALIZED,
        Where.note("has not returned in " + options.openTimeout()));
  }

  /** One call, by a thread that may be left behind. */
  private static final class Attempt implements Runnable {
    private final CountDownLatch over = new CountDownLatch(1);
    private final Runnable call;
    private RuntimeException problem;

    /** It opens the driver, else it closes it; guarded by the door. */
    private boolean opens;

    /** Somebody has waited for it in vain; guarded by the door. */
    private boolean late;

    Attempt(Runnable call) {
      this.call = call;
    }

    boolean isOverWithin(long nanos) {
      boolean interrupted = false;
      long begin = System.nanoTime();
      try {
        while (true) {
          try {
            return over.await(nanos - (System.nanoTime() - begin), TimeUnit.NANOSECONDS);
          } catch (InterruptedException e) {
            interrupted = true;
          }
        }
      } finally {
        if (interrupted) {
          Thread.currentThread().interrupt();
        }
      }
    }

    void start(String name) {
      Thread thread = new Thread(this, name);
      thread.setDaemon(true);
      thread.start();
    }

    @Override
    public void run() {
      try {
        call.run();
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
