package org.metrale.gpu.cuda;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.metrale.gpu.LibraryUnavailableException;

/**
 * The CUDA driver of this machine: its version and its devices.
 *
 * <p>Whether the library is here is {@link CudaLibrary}'s answer; whether it works on this machine
 * is this class's.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class CudaDriver {
  /** Where the functions for the glue of other libraries are, 0 before they were asked for. */
  private static volatile long functions;

  /** How long a call may take that nobody has set a limit for. */
  static final Duration CALL_TIMEOUT = Duration.ofMinutes(1);

  private CudaDriver() {}

  /**
   * Initialises the driver; every factory of this package does it by itself.
   *
   * @throws LibraryUnavailableException if the library is not here
   * @throws CudaException if the driver finds no device, or cannot be used
   * @wraps {@code cuInit}; cuda.h, CUDA 2.0 and later
   */
  public static void initialize() {
    Initialized.check();
  }

  /**
   * The CUDA version that the driver supports.
   *
   * @return 1000 times the major plus 10 times the minor version, for example 13000
   * @throws LibraryUnavailableException if the library is not here
   * @throws CudaException if the driver cannot be used
   * @wraps {@code cuDriverGetVersion}; cuda.h, CUDA 2.2 and later
   */
  public static int version() {
    CudaLibrary.require();
    return CudaCalls.cuDriverGetVersion();
  }

  /**
   * How many devices this process can see.
   *
   * @return the number of ordinals
   * @throws LibraryUnavailableException if the library is not here
   * @throws CudaException if the driver cannot be used
   * @wraps {@code cuDeviceGetCount}; cuda.h, CUDA 2.0 and later
   */
  public static int deviceCount() {
    initialize();
    return CudaCalls.cuDeviceGetCount();
  }

  /**
   * One device.
   *
   * @param cudaOrdinal from 0 to {@link #deviceCount()} - 1; not NVML's index
   * @return the device
   * @throws IllegalArgumentException if there is no such device
   * @throws LibraryUnavailableException if the library is not here
   * @throws CudaException if the driver cannot be used
   * @wraps {@code cuDeviceGet}; cuda.h, CUDA 2.0 and later
   */
  public static CudaDevice device(int cudaOrdinal) {
    int count = deviceCount();
    if (cudaOrdinal < 0 || cudaOrdinal >= count) {
      throw new IllegalArgumentException(
          "cudaOrdinal " + cudaOrdinal + " is not one of the " + count + " devices");
    }
    return new CudaDevice(cudaOrdinal, CudaCalls.cuDeviceGet(cudaOrdinal));
  }

  /**
   * Every device that this process can see.
   *
   * @return them by ordinal
   * @throws LibraryUnavailableException if the library is not here
   * @throws CudaException if the driver cannot be used
   */
  public static List<CudaDevice> devices() {
    List<CudaDevice> out = new ArrayList<>();
    int count = deviceCount();
    for (int ordinal = 0; ordinal < count; ordinal++) {
      out.add(device(ordinal));
    }
    return List.copyOf(out);
  }

  /**
   * The device of an identifier, which is the same for NVML.
   *
   * @param uuid the device's identifier
   * @return the device, or empty if this process cannot see it
   * @throws LibraryUnavailableException if the library is not here
   * @throws CudaException if the driver cannot be used
   */
  public static Optional<CudaDevice> byUuid(UUID uuid) {
    return devices().stream().filter(device -> device.uuid().equals(uuid)).findFirst();
  }

  /**
   * The device at a PCI address, which is the same for NVML.
   *
   * @param pciAddress domain, bus, device and function, for example {@code 0000:0f:00.0}
   * @return the device, or empty if this process sees none there
   * @throws LibraryUnavailableException if the library is not here
   * @throws CudaException if the driver cannot be used
   * @wraps {@code cuDeviceGetByPCIBusId}; cuda.h, CUDA 4.1 and later
   */
  public static Optional<CudaDevice> byPciAddress(String pciAddress) {
    int count = deviceCount();
    int found = CudaCalls.cuDeviceGetByPCIBusId(pciAddress);
    for (int ordinal = 0; found >= 0 && ordinal < count; ordinal++) {
      if (CudaCalls.cuDeviceGet(ordinal) == found) {
        return Optional.of(new CudaDevice(ordinal, found));
      }
    }
    return Optional.empty();
  }

  /**
   * The address of a table of driver functions, for the glue of a library that works on CUDA's
   * contexts. Not for programs.
   *
   * @return the address of {@code struct metrale_driver}
   * @throws LibraryUnavailableException if the driver, or one of the functions, is absent
   */
  public static long functions() {
    long known = functions;
    if (known == 0) {
      CudaLibrary.require();
      // An exception of this glue has no name in another's, so nothing may be absent there.
      for (String name : CudaCalls.DRIVER_FUNCTIONS) {
        if (!CudaLibrary.supports(name)) {
          throw LibraryUnavailableException.missing("cuda", name);
        }
      }
      known = CudaCalls.driverFunctions();
      functions = known;
    }
    return known;
  }

  /** Initialises once; what failed is tried again, since a driver may be started later. */
  private static final class Initialized {
    private static volatile boolean done;

    static void check() {
      if (!done) {
        CudaLibrary.require();
        new LateWork(-1, CALL_TIMEOUT).run("cuInit", "the driver is not usable", CudaCalls::cuInit);
        done = true;
      }
    }
  }
}
