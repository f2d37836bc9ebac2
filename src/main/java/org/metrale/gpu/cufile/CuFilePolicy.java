package org.metrale.gpu.cufile;

/** Which ways a file may be read and written. */
public enum CuFilePolicy {
  /** Between storage and device alone; where that cannot be had, opening the file fails. */
  FORCE_GDS,
  /** The best that there is: GPUDirect Storage, else cuFile's compatible mode, else POSIX. */
  ALLOW_COMPAT,
  /** Never through cuFile. */
  FORCE_POSIX
}
