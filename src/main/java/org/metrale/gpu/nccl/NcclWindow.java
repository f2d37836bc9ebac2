package org.metrale.gpu.nccl;

import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;

/**
 * Memory that all ranks of a communicator have registered together, so that each can reach the
 * others'.
 *
 * <p><b>Ownership:</b> belongs to its communicator, which closes it if it is still open then;
 * closing it earlier is allowed, twice is nothing. Closing is collective in NCCL; here it has a
 * deadline.
 */
public final class NcclWindow extends NativeResource {
  private final NcclCommunicator communicator;
  private final CudaBuffer buffer;
  private final long handle;

  NcclWindow(NcclCommunicator communicator, CudaBuffer buffer, long handle) {
    super(communicator);
    this.communicator = communicator;
    this.buffer = buffer;
    this.handle = handle;
  }

  /**
   * This rank's part.
   *
   * @return the buffer that was registered
   */
  public CudaBuffer buffer() {
    return buffer;
  }

  NcclCommunicator communicator() {
    return communicator;
  }

  long handle() {
    if (isClosed()) {
      throw new IllegalStateException(this + " is closed");
    }
    return handle;
  }

  @Override
  protected void free() {
    communicator.forget(this);
    RankState state = communicator.state();
    if (state.failure() == null) {
      state.manage(
          "ncclCommWindowDeregister",
          () -> NcclCalls.ncclCommWindowDeregister(state.context.address(), state.handle(), handle),
          state.config.closeTimeout());
    }
  }

  @Override
  public String toString() {
    return "window on " + buffer + " of " + communicator;
  }
}
