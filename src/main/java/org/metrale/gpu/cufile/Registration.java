package org.metrale.gpu.cufile;

import org.metrale.gpu.GpuException;

/**
 * What came of a policy: cuFile's handle with its route, or none.
 *
 * @param handle cuFile's handle; only where the route is not POSIX
 * @param route which way transfers of device memory go
 * @param problem why cuFile is not used although it might be, or null
 */
record Registration(long handle, CuFileRoute route, GpuException problem) {
  private static Registration none(GpuException problem) {
    return new Registration(0, CuFileRoute.POSIX, problem);
  }

  /** Registers a file as the policy wants it, or throws. */
  static Registration of(CuFileDriver driver, OpenFile file, CuFilePolicy policy) {
    if (policy == CuFilePolicy.FORCE_POSIX) {
      return Registration.none(null);
    }
    boolean forced = policy == CuFilePolicy.FORCE_GDS;
    if (!driver.isCuFileOpen()) {
      if (forced) {
        driver.requireCuFile();
      }
      return Registration.none(driver.unavailabilityCause().orElseThrow());
    }
    if (forced && file.direct() < 0) {
      throw CuFileException.ofNegative("open", file.direct(), file.where(-1, -1, "flag=O_DIRECT"));
    }
    try {
      int fd = file.direct() >= 0 ? file.direct() : file.buffered();
      long handle = CuFileCalls.cuFileHandleRegister(fd, file.where(-1, -1, "policy=" + policy));
      CuFileRoute route = Routes.of(driver.properties(), file.fileSystem(), file.direct() >= 0);
      if (forced && route == CuFileRoute.COMPAT) {
        CuFileCalls.cuFileHandleDeregister(handle);
        throw CuFileException.of(
            "cuFileHandleRegister",
            CuFileResult.IO_NOT_SUPPORTED,
            file.where(-1, -1, "policy=FORCE_GDS, only compatible mode is to be had"));
      }
      return new Registration(handle, route, null);
    } catch (GpuException e) {
      if (forced) {
        throw e;
      }
      return Registration.none(e);
    }
  }
}
