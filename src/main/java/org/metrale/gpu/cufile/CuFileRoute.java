package org.metrale.gpu.cufile;

/** Which way the bytes of a transfer went. */
public enum CuFileRoute {
  /** Between storage and device through the nvidia-fs driver. */
  GDS,
  /** Between storage and device as the kernel's peer-to-peer DMA. */
  P2PDMA,
  /** Through cuFile's own bounce buffers in host memory. */
  COMPAT,
  /** Through the file system's calls, without cuFile. */
  POSIX
}
