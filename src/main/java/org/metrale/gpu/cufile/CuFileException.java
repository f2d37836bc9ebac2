package org.metrale.gpu.cufile;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import org.metrale.gpu.NativeCallException;

/**
 * cuFile or the file system refused a call.
 *
 * <p>{@link #code()} is a cuFile code, or an errno if it is below 5000; the CUDA code is there only
 * when the cuFile code says that the CUDA driver failed.
 */
public final class CuFileException extends NativeCallException {
  private static final long serialVersionUID = 1L;

  private static final String KEPT = "what it uses stays open";

  /** The errno, or 0. */
  private final int errno;

  /** The CUDA driver's code, or 0. */
  private final int cudaCode;

  /** The file, or an empty text. */
  private final String path;

  /** Where in the file, or -1. */
  private final long offsetBytes;

  /** How much, or -1. */
  private final long lengthBytes;

  /** Kind of the file's file system, or an empty text. */
  private final String fileSystem;

  /** The call has not returned. */
  private final boolean unfinished;

  private CuFileException(String call, int code, int cudaCode, Where where, boolean unfinished) {
    super(
        call,
        code,
        symbol(code),
        unfinished ? "has not returned in time" : text(code, cudaCode),
        where.detail());
    this.unfinished = unfinished;
    this.errno = code < CuFileResult.BASE ? code : 0;
    this.cudaCode = cudaCode;
    this.path = where.path;
    this.offsetBytes = where.offsetBytes;
    this.lengthBytes = where.lengthBytes;
    this.fileSystem = where.fileSystem;
  }

  /** What a call was about. */
  record Where(String path, long offsetBytes, long lengthBytes, String fileSystem, String more) {
    static final Where NOWHERE = new Where("", -1, -1, "", "");

    static Where note(String more) {
      return new Where("", -1, -1, "", more);
    }

    /** The same with one more thing to say. */
    Where and(String said) {
      return new Where(path, offsetBytes, lengthBytes, fileSystem, (more + " " + said).strip());
    }

    String detail() {
      StringBuilder out = new StringBuilder();
      add(out, "path", path);
      add(out, "offset", offsetBytes < 0 ? "" : Long.toString(offsetBytes));
      add(out, "length", lengthBytes < 0 ? "" : Long.toString(lengthBytes));
      add(out, "fs", fileSystem);
      return (out + (more.isEmpty() || out.isEmpty() ? more : " " + more)).strip();
    }

    private static void add(StringBuilder out, String name, String value) {
      if (!value.isEmpty()) {
        out.append(out.isEmpty() ? "" : " ").append(name).append('=').append(value);
      }
    }
  }

  /** From both halves of a CUfileError_t in one number. */
  static CuFileException ofPacked(String call, long packed, Where where) {
    int code = (int) packed;
    // Beside any other code the second half is left over from something else.
    int cuda = code == CuFileResult.CUDA_DRIVER_ERROR.code() ? (int) (packed >>> 32) : 0;
    return new CuFileException(call, code, cuda, where, false);
  }

  /** From a number below 0: minus an errno, a cuFile code, or both halves of a CUfileError_t. */
  static CuFileException ofNegative(String call, long answer, Where where) {
    return ofPacked(call, -answer, where);
  }

  /** A call that has not returned in time: {@code ETIMEDOUT}, which no caller of C would see. */
  static CuFileException unfinished(String call, Where where, Duration limit, Duration waited) {
    return new CuFileException(
        call,
        CuFileCalls.timedOut(),
        0,
        where.and("not over after " + limit + ", elapsed=" + waited + "; until it is, " + KEPT),
        true);
  }

  /** From a cuFile code that this layer found itself. */
  static CuFileException of(String call, CuFileResult result, Where where) {
    return new CuFileException(call, result.code(), 0, where, false);
  }

  /**
   * The code as a value.
   *
   * @return the cuFile code; empty if the file system failed with an errno
   */
  public Optional<CuFileResult> result() {
    return errno == 0 ? Optional.of(new CuFileResult(code())) : Optional.empty();
  }

  /**
   * The errno of a file system error.
   *
   * @return the number; empty if cuFile itself refused
   */
  public OptionalInt errno() {
    return errno == 0 ? OptionalInt.empty() : OptionalInt.of(errno);
  }

  /**
   * Whether the call still runs: it was only given up waiting for.
   *
   * @return true if file, memory and driver stay in use until it returns
   */
  public boolean isUnfinished() {
    return unfinished;
  }

  /**
   * What the CUDA driver said.
   *
   * @return its code; empty unless the cuFile code says that the CUDA driver failed
   */
  public OptionalInt cudaCode() {
    return code() == CuFileResult.CUDA_DRIVER_ERROR.code()
        ? OptionalInt.of(cudaCode)
        : OptionalInt.empty();
  }

  /**
   * The file that it was about.
   *
   * @return its path, or an empty text
   */
  public String path() {
    return path;
  }

  /**
   * Where in the file.
   *
   * @return bytes from its start, or -1
   */
  public long offsetBytes() {
    return offsetBytes;
  }

  /**
   * How much was asked for.
   *
   * @return bytes, or -1
   */
  public long lengthBytes() {
    return lengthBytes;
  }

  /**
   * The kind of the file's file system.
   *
   * @return for example {@code xfs}, or an empty text
   */
  public String fileSystem() {
    return fileSystem;
  }

  private static String symbol(int code) {
    return code < CuFileResult.BASE ? CuFileCalls.errnoName(code) : new CuFileResult(code).symbol();
  }

  private static String text(int code, int cudaCode) {
    if (code < CuFileResult.BASE) {
      return CuFileCalls.errnoText(code);
    }
    String text = new CuFileResult(code).text();
    return cudaCode != 0 ? text + ", CUDA code " + cudaCode : text;
  }
}
