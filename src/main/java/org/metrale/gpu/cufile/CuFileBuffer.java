package org.metrale.gpu.cufile;

import com.google.errorprone.annotations.MustBeClosed;
import org.metrale.gpu.NativeResource;

/**
 * Memory that is registered with cuFile, so that transfers need no bounce buffer.
 *
 * <p><b>Ownership:</b> keeps its driver and its memory open, so it is always closed before them.
 *
 * <p><b>Threading:</b> safe for any number of threads. <b>Blocking:</b> registering and closing at
 * most {@link CuFileOptions#callTimeout()} each.
 */
public final class CuFileBuffer extends NativeResource {
  private final CuFileMemory memory;
  private final CuFileDriver driver;

  /** Whether cuFile knows the memory; set before anybody is given this. */
  private boolean registered;

  private CuFileBuffer(CuFileDriver driver, CuFileMemory memory, NativeResource... needs) {
    super(needs);
    this.driver = driver;
    this.memory = memory;
  }

  /**
   * Registers memory.
   *
   * <p>Without cuFile nothing is registered, and the buffer can be used all the same.
   *
   * @param driver the driver
   * @param memory what to register; its owner stays open until this is closed
   * @return the buffer; close it
   * @throws CuFileException if cuFile refuses, or has not returned within {@link
   *     CuFileOptions#callTimeout()}; driver and memory stay open then until it has
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
    // Keeps everything open before anything is registered.
    CuFileBuffer out = new CuFileBuffer(driver, memory, needs);
    if (!driver.isCuFileOpen() || !memory.isOnDevice()) {
      return out;
    }
    if (!driver.isLimited()) {
      return out.registered();
    }
    return driver.call("cuFileBufRegister", memory.where(), out::registered, CuFileBuffer::close);
  }

  /** Registers the memory, or closes this. */
  private CuFileBuffer registered() {
    try {
      CuFileCalls.cuFileBufRegister(
          memory.contextAddress(), memory.address(), memory.lengthBytes());
      registered = true;
      return this;
    } finally {
      if (!registered) {
        close();
      }
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
   * @throws CuFileException if cuFile refuses, or has not returned within {@link
   *     CuFileOptions#callTimeout()}; driver and memory stay open then until it has
   */
  @Override
  @SuppressWarnings("MustBeClosed") // the call closes the hold
  protected void free() {
    if (!registered) {
      return;
    }
    if (!driver.isLimited()) {
      deregister();
      return;
    }
    CuFileHold hold = CuFileHold.open("a cuFile buffer being closed", memory.owners());
    driver.end(
        "cuFileBufDeregister",
        memory.where(),
        () -> {
          try {
            deregister();
          } finally {
            hold.close();
          }
        });
  }

  private void deregister() {
    CuFileCalls.cuFileBufDeregister(memory.contextAddress(), memory.address());
  }

  @Override
  public String toString() {
    return "cuFile buffer of " + memory;
  }

  /** Keeps this and its memory open until {@link #end()}. */
  void begin() {
    acquire();
  }

  void end() {
    release();
  }
}
