package org.metrale.gpu.cufile;

import com.google.errorprone.annotations.MustBeClosed;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.metrale.gpu.CallLimit;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaContext;

/**
 * Reads and writes files by cuFile where it works, by the file system's calls where it does not.
 *
 * <p>Opening always succeeds: {@link #unavailabilityCause()} says why cuFile is not used, and each
 * transfer's result says which way it went. A file that must not do without GPUDirect Storage is
 * opened with {@link CuFilePolicy#FORCE_GDS}.
 *
 * <p>The library's own driver is opened for the first of these objects in a process and closed with
 * the last. While the process ends it is left open: CUDA may be gone by then. cuFile's log goes to
 * the folder of the options, by the variable {@code CUFILE_LOGFILE_PATH}, which is set for the
 * process unless it is set already; open the driver early, before other threads read variables.
 * Where CUDA has no device cuFile's driver is not asked to open: it never does, and would write to
 * standard output, which no setting keeps it from.
 *
 * <p><b>Ownership:</b> files, buffers and batches keep it open. Close it before the CUDA contexts
 * of the memory that it moved.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class CuFileDriver extends NativeResource {
  private final CuFileOptions options;

  /** Null if cuFile's driver is open. */
  private final GpuException problem;

  private final TaskPool pool;
  private final CallLimit late = new CallLimit();
  private final boolean limited;
  private final List<DeviceBounce> bounces = new ArrayList<>();

  private CuFileDriver(CuFileOptions options, GpuException problem) {
    this.options = options;
    this.problem = problem;
    this.limited = CallLimit.isLimited(options.callTimeout());
    this.pool = new TaskPool(options);
  }

  /**
   * Opens the driver with the usual options.
   *
   * @return the driver; close it
   * @wraps {@code cuFileDriverOpen}; cufile.h, cuFile 1.0 and later
   */
  @MustBeClosed
  public static CuFileDriver open() {
    return open(CuFileOptions.defaults());
  }

  /**
   * Opens the driver.
   *
   * <p><b>Blocking:</b> at most {@link CuFileOptions#callTimeout()}.
   *
   * @param options how it works
   * @return the driver; close it
   * @wraps {@code cuFileDriverOpen}; cufile.h, cuFile 1.0 and later
   */
  @MustBeClosed
  public static CuFileDriver open(CuFileOptions options) {
    GpuException problem =
        options.useCuFile()
            ? DriverDoor.instance().open(options)
            : CuFileException.of(
                "cuFileDriverOpen",
                CuFileResult.DRIVER_NOT_INITIALIZED,
                CuFileException.Where.note("not called: the options leave cuFile out"));
    return new CuFileDriver(options, problem);
  }

  /**
   * Whether cuFile is used at all.
   *
   * @return false if every transfer goes by the file system's calls
   */
  public boolean isCuFileOpen() {
    return problem == null;
  }

  /**
   * Why cuFile is not used.
   *
   * @return the absent library or the refused opening; empty if cuFile is used
   */
  public Optional<GpuException> unavailabilityCause() {
    return Optional.ofNullable(problem);
  }

  /**
   * How it works.
   *
   * @return the options given at opening
   */
  public CuFileOptions options() {
    return options;
  }

  /**
   * What the driver can do here.
   *
   * @return its properties
   * @throws CuFileException if cuFile refuses, or its driver is not open
   * @throws org.metrale.gpu.LibraryUnavailableException if there is no cuFile
   * @wraps {@code cuFileDriverGetProperties}; cufile.h, cuFile 1.0 and later
   */
  public CuFileProperties properties() {
    requireCuFile();
    return call(
        "cuFileDriverGetProperties",
        () -> new CuFileProperties(CuFileCalls.cuFileDriverGetProperties()));
  }

  /**
   * The driver's parameters.
   *
   * @return a view that asks and sets them
   * @throws CuFileException if cuFile's driver is not open
   * @throws org.metrale.gpu.LibraryUnavailableException if there is no cuFile
   */
  public CuFileParameters parameters() {
    requireCuFile();
    return new CuFileParameters(this);
  }

  /**
   * Begins to count.
   *
   * @param level 1 for counts and sums, 2 for sizes too, 3 for devices too, 0 for nothing
   * @throws CuFileException if cuFile refuses, or its driver is not open
   * @throws org.metrale.gpu.LibraryUnavailableException if there is no cuFile, or it is too old
   * @wraps {@code cuFileSetStatsLevel}, {@code cuFileStatsStart}; cufile.h, cuFile 1.14 and later
   */
  public void startStatistics(int level) {
    requireCuFile();
    call(
        "cuFileSetStatsLevel",
        () -> {
          CuFileCalls.cuFileSetStatsLevel(level);
          if (level > 0) {
            CuFileCalls.cuFileStatsStart();
          }
          return null;
        });
  }

  /**
   * Forgets what was counted.
   *
   * @throws CuFileException if cuFile refuses, or its driver is not open
   * @throws org.metrale.gpu.LibraryUnavailableException if there is no cuFile, or it is too old
   * @wraps {@code cuFileStatsReset}; cufile.h, cuFile 1.14 and later
   */
  public void resetStatistics() {
    requireCuFile();
    call(
        "cuFileStatsReset",
        () -> {
          CuFileCalls.cuFileStatsReset();
          return null;
        });
  }

  /**
   * Ends counting; what was counted stays.
   *
   * @throws CuFileException if cuFile refuses, or its driver is not open
   * @throws org.metrale.gpu.LibraryUnavailableException if there is no cuFile, or it is too old
   * @wraps {@code cuFileStatsStop}; cufile.h, cuFile 1.14 and later
   */
  public void stopStatistics() {
    requireCuFile();
    call(
        "cuFileStatsStop",
        () -> {
          CuFileCalls.cuFileStatsStop();
          return null;
        });
  }

  /**
   * What was counted.
   *
   * @return the statistics of the level that was started
   * @throws CuFileException if cuFile refuses, or its driver is not open
   * @throws org.metrale.gpu.LibraryUnavailableException if there is no cuFile, or it is too old
   * @wraps {@code cuFileGetStatsL1}, {@code cuFileGetStatsL2}, {@code cuFileGetStatsL3}; cufile.h,
   *     cuFile 1.14 and later
   */
  public CuFileStatistics statistics() {
    requireCuFile();
    return call(
        "cuFileGetStatsL1",
        () -> {
          int level = Math.max(1, CuFileCalls.cuFileGetStatsLevel());
          return new CuFileStatistics(level, CuFileCalls.cuFileGetStats(level));
        });
  }

  /**
   * Why GPUDirect Storage is on or off for a file.
   *
   * @param file the file, or a folder for files to come
   * @return what was found
   */
  public GdsStatus status(Path file) {
    return GdsStatus.of(this, file);
  }

  /**
   * How many calls were given up waiting for and have not returned. What they use stays open.
   *
   * @return their number now
   */
  public int unfinishedCalls() {
    return late.running();
  }

  /**
   * How many stream-ordered transfers nobody was given, because the call that queues them failed or
   * was late, and that are not over. What they use stays open.
   *
   * @return their number now
   */
  public int abandonedOperations() {
    return CuFileOperation.left(this);
  }

  @Override
  protected void free() {
    RuntimeException first = null;
    pool.close();
    for (DeviceBounce bounce : bounces) {
      first = closing(first, bounce::close);
    }
    if (problem == null) {
      first = closing(first, () -> DriverDoor.instance().close(options));
    }
    if (first != null) {
      throw first;
    }
  }

  /** Closes one thing; answers the first failure, which carries the later ones. */
  private static RuntimeException closing(RuntimeException first, Runnable close) {
    try {
      close.run();
    } catch (RuntimeException e) {
      if (first == null) {
        return e;
      }
      first.addSuppressed(e);
    }
    return first;
  }

  @Override
  public String toString() {
    return problem == null ? "cuFile driver" : "cuFile driver without cuFile";
  }

  TaskPool pool() {
    return pool;
  }

  /** Whether calls that move no bytes have a time at all; if not the caller's thread makes them. */
  boolean isLimited() {
    return limited;
  }

  /** What counts the calls that were given up waiting for. */
  CallLimit late() {
    return late;
  }

  /** Makes a call that moves no bytes, within the options' time; this stays open while it runs. */
  <T> T call(String call, Supplier<T> work) {
    return call(call, CuFileException.Where.NOWHERE, work, made -> {});
  }

  /**
   * The same.
   *
   * @param late takes what was made when nobody waits for it any more
   */
  <T> T call(String call, CuFileException.Where where, Supplier<T> work, Consumer<? super T> late) {
    acquire();
    return within(call, where, work, this::release, late);
  }

  /** The same; the caller keeps open what is used, and lets go of it in {@code after}. */
  <T> T within(
      String call,
      CuFileException.Where where,
      Supplier<T> work,
      Runnable after,
      Consumer<? super T> tooLate) {
    Duration limit = options.callTimeout();
    return late.run(
        limit,
        work,
        after,
        tooLate,
        waited -> CuFileException.unfinished(call, where, limit, waited));
  }

  /**
   * Makes a call that ends something, in this thread where no other is to be had.
   *
   * @param work ends it; what it uses is kept open until it has returned
   */
  void end(String call, CuFileException.Where where, Runnable work) {
    Duration limit = options.callTimeout();
    acquire();
    late.end(
        limit,
        work,
        this::release,
        waited -> CuFileException.unfinished(call, where, limit, waited));
  }

  /** The way to a device without cuFile, made at first use. */
  DeviceBounce bounce(CudaContext context) {
    synchronized (bounces) {
      for (DeviceBounce known : bounces) {
        if (known.context() == context) {
          return known;
        }
      }
      DeviceBounce fresh = new DeviceBounce(context, options.taskSizeBytes());
      bounces.add(fresh);
      return fresh;
    }
  }

  void requireCuFile() {
    if (problem != null) {
      throw problem;
    }
  }
}
