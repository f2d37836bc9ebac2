package org.metrale.gpu.cufile;

import com.google.errorprone.annotations.MustBeClosed;
import java.util.Objects;
import org.metrale.gpu.NativeResource;

/**
 * Memory that is registered with cuFile, so that transfers need no bounce buffer.
 *
 * <p><b>Ownership:</b> keeps its driver and its memory open, so it is always closed before them.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class CuFileBuffer extends NativeResource {
  private final CuFileMemory memory;
  private final boolean registered;

  private CuFileBuffer(CuFileMemory memory, boolean registered, NativeResource... needs) {
    super(needs);
    this.memory = memory;
    this.registered = registered;
  }

  /**
   * Registers memory.
   *
   * <p>Without cuFile nothing is registered, and the buffer can be used all the same.
   *
   * @param driver the driver
   * @param memory what to register; its owner stays open until this is closed
   * @return the buffer; close it
   * @throws CuFileException if cuFile refuses
   * @throws IllegalStateException if the driver or the memory is closed
   * @wraps {@code cuFileBufRegister}; cufile.h, cuFile 1.0 and later
   */
  @MustBeClosed
  public static CuFileBuffer register(CuFileDriver driver, CuFileMemory memory) {
    memory.requireOpen();
    NativeResource[] owners = memory.owners();
    NativeResource[] needs = new NativeResource[owners.length + 1];
    needs[0] = driver;
    System.arraycopy(owners, 0, needs, 1, owners.length);
    boolean registered = driver.isCuFileOpen() && memory.isOnDevice();
    if (!registered) {
      return new CuFileBuffer(memory, false, needs);
    }
    // Held open before anything is registered.
    try (CuFileHold hold = CuFileHold.open("cuFile buffer", needs)) {
      Objects.requireNonNull(hold);
      CuFileCalls.cuFileBufRegister(
          memory.contextAddress(), memory.address(), memory.lengthBytes());
      return new CuFileBuffer(memory, true, needs);
    }
  }

  /**
   * The memory.
   *
   * @return what was registered
   */
  public CuFileMemory memory() {
    return memory;
  }

  /**
   * Whether cuFile knows the memory.
   *
   * @return false for memory of the host, and without cuFile
   */
  public boolean isRegistered() {
    return registered;
  }

  /**
   * Deregisters the memory.
   *
   * @throws CuFileException if cuFile refuses
   */
  @Override
  protected void free() {
    if (registered) {
      CuFileCalls.cuFileBufDeregister(memory.contextAddress(), memory.address());
    }
  }

  @Override
  public String toString() {
    return "cuFile buffer of " + memory;
  }

  void begin() {
    acquire();
  }

  void end() {
    release();
  }
}
