package org.metrale.gpu.cufile;

import com.google.errorprone.annotations.MustBeClosed;
import java.util.function.Supplier;

/** Opens files within the driver's time: file systems of the network, and cuFile, may hang. */
final class FileOpening {
  private FileOpening() {}

  /** Makes the owner of what was opened. */
  interface Maker {
    CuFileHandle make(CuFileDriver driver, OpenFile file, CuFilePolicy policy, Registration found);
  }

  /**
   * Opens a file; one that is open too late is closed again.
   *
   * @param path for messages, or an empty text
   */
  @MustBeClosed
  @SuppressWarnings("MustBeClosed") // the call closes the hold
  static CuFileHandle open(
      CuFileDriver driver, Supplier<OpenFile> open, String path, CuFilePolicy policy, Maker maker) {
    CuFileHold hold = CuFileHold.open("a file being opened", driver);
    return driver.within(
        "open",
        new CuFileException.Where(path, -1, -1, "", ""),
        () -> opened(driver, open.get(), policy, maker),
        hold::close,
        CuFileHandle::close);
  }

  private static CuFileHandle opened(
      CuFileDriver driver, OpenFile file, CuFilePolicy policy, Maker maker) {
    boolean made = false;
    Registration found = null;
    try {
      found = Registration.of(driver, file, policy);
      CuFileHandle out = maker.make(driver, file, policy, found);
      made = true;
      return out;
    } finally {
      if (!made) {
        if (found != null && found.route() != CuFileRoute.POSIX) {
          CuFileCalls.cuFileHandleDeregister(found.handle());
        }
        file.close();
      }
    }
  }
}
