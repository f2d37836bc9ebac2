package org.metrale.gpu.nccl;

import java.time.Duration;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.LibraryThrewException;
import org.metrale.gpu.LibraryUnavailableException;

/**
 * What all ranks of a communicator must hold before it can be made: 128 bytes, made by one of them.
 *
 * <p>A value; see {@link NcclBootstrap} for ways to hand it to the others.
 */
public final class NcclUniqueId {
  /** The length of an id. */
  public static final int BYTES = 128;

  private static final Duration CREATE_TIMEOUT = Duration.ofMinutes(1);

  private final byte[] bytes;

  private NcclUniqueId(byte[] bytes) {
    this.bytes = bytes;
  }

  /**
   * Makes a new id; NCCL opens a socket for it in this process.
   *
   * <p><b>Blocking:</b> while NCCL looks for network interfaces, at most a minute.
   *
   * @return the id
   * @throws LibraryUnavailableException if NCCL is not here
   * @throws NcclException if NCCL finds no network interface, gets no thread, or takes too long
   * @wraps {@code ncclGetUniqueId}; nccl.h, NCCL 2.0 and later
   */
  public static NcclUniqueId create() {
    NcclLibrary.require();
    try {
      return new NcclUniqueId(
          BoundedCall.await(BoundedCall.start(NcclCalls::ncclGetUniqueId), CREATE_TIMEOUT));
    } catch (LibraryThrewException e) {
      throw NcclCalls.failed("ncclGetUniqueId", e, "");
    } catch (TimeoutException e) {
      throw new NcclException(
          "ncclGetUniqueId", NcclResult.TIMEOUT, "not back within " + CREATE_TIMEOUT, "", "");
    }
  }

  /**
   * The id that another process made.
   *
   * @param bytes its 128 bytes; copied
   * @return the id
   * @throws IllegalArgumentException if there are not 128 bytes
   */
  public static NcclUniqueId of(byte[] bytes) {
    if (bytes.length != BYTES) {
      throw new IllegalArgumentException("an id has " + BYTES + " bytes, here are " + bytes.length);
    }
    return new NcclUniqueId(bytes.clone());
  }

  /**
   * The id for another process.
   *
   * @return its 128 bytes; a copy
   */
  public byte[] toBytes() {
    return bytes.clone();
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof NcclUniqueId id && Arrays.equals(id.bytes, bytes);
  }

  @Override
  public int hashCode() {
    return Arrays.hashCode(bytes);
  }

  @Override
  public String toString() {
    return "NCCL id " + HexFormat.of().formatHex(bytes, 0, 8) + "...";
  }
}
