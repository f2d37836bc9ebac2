package org.metrale.gpu.cufile;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * How a driver works.
 *
 * @param threads how many threads share one large transfer, the caller among them
 * @param taskSizeBytes what one thread moves at a time; a transfer no larger stays in its caller's
 *     thread. A multiple of 64 KiB
 * @param logFolder where cuFile writes its {@code cufile.log}; empty leaves it to cuFile's own
 *     settings, which is the working directory by default
 * @param callTimeout how long a call that moves no bytes may take: opening cuFile's driver, which
 *     is then done without, closing it, opening and closing files, registering memory, making
 *     batches, asking for properties, parameters, statistics and sizes. With {@code
 *     ChronoUnit.FOREVER.getDuration()} all but the first two are made in the caller's thread
 * @param useCuFile false keeps away from cuFile altogether
 * @param transferTimeout how long a transfer may take where the call says no time of its own; with
 *     {@code ChronoUnit.FOREVER.getDuration()} it is made in the caller's thread, as fast as in C
 *     and as long
 */
public record CuFileOptions(
    int threads,
    long taskSizeBytes,
    Optional<Path> logFolder,
    Duration callTimeout,
    boolean useCuFile,
    Duration transferTimeout) {
  private static final long TASK_STEP_BYTES = 64 << 10;

  /**
   * Checks the numbers.
   *
   * @param threads at least 1
   * @param taskSizeBytes a multiple of 64 KiB, at least that
   * @param logFolder where the log goes
   * @param callTimeout positive
   * @param useCuFile whether cuFile is used
   * @param transferTimeout positive
   * @throws IllegalArgumentException if one is out of range
   */
  public CuFileOptions {
    if (threads < 1 || threads > 256) {
      throw new IllegalArgumentException("threads " + threads + " is not within 1 to 256");
    }
    if (taskSizeBytes < TASK_STEP_BYTES || taskSizeBytes % TASK_STEP_BYTES != 0) {
      throw new IllegalArgumentException(
          "taskSizeBytes " + taskSizeBytes + " is no multiple of " + TASK_STEP_BYTES);
    }
    if (callTimeout.isNegative() || callTimeout.isZero()) {
      throw new IllegalArgumentException("callTimeout " + callTimeout + " is not positive");
    }
    if (transferTimeout.isNegative() || transferTimeout.isZero()) {
      throw new IllegalArgumentException("transferTimeout " + transferTimeout + " is not positive");
    }
  }

  /**
   * Four threads at most, 4 MiB a task, the log in the folder for temporary files, ten seconds for
   * a call and a minute for a transfer.
   *
   * @return the options that are used where none are given
   */
  public static CuFileOptions defaults() {
    return new CuFileOptions(
        Math.min(4, Runtime.getRuntime().availableProcessors()),
        4 << 20,
        Optional.of(Path.of(System.getProperty("java.io.tmpdir"))),
        Duration.ofSeconds(10),
        true,
        Duration.ofMinutes(1));
  }

  /**
   * The same, shared differently.
   *
   * @param threads how many threads share one large transfer
   * @param taskSizeBytes what one thread moves at a time
   * @return new options
   */
  public CuFileOptions withThreads(int threads, long taskSizeBytes) {
    return new CuFileOptions(
        threads, taskSizeBytes, logFolder, callTimeout, useCuFile, transferTimeout);
  }

  /**
   * The same without cuFile.
   *
   * @return new options
   */
  public CuFileOptions withoutCuFile() {
    return new CuFileOptions(
        threads, taskSizeBytes, logFolder, callTimeout, false, transferTimeout);
  }

  /**
   * The same with another folder for cuFile's log.
   *
   * @param folder an existing folder
   * @return new options
   */
  public CuFileOptions withLogFolder(Path folder) {
    return new CuFileOptions(
        threads, taskSizeBytes, Optional.of(folder), callTimeout, useCuFile, transferTimeout);
  }

  /**
   * The same with other times.
   *
   * @param calls how long a call that moves no bytes may take
   * @param transfer how long a transfer may take where the call says no time of its own
   * @return new options
   */
  public CuFileOptions withTimeouts(Duration calls, Duration transfer) {
    return new CuFileOptions(threads, taskSizeBytes, logFolder, calls, useCuFile, transfer);
  }
}
