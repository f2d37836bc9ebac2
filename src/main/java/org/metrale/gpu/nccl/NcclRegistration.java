package org.metrale.gpu.nccl;

import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;

/**
 * A buffer that a communicator knows beforehand, so that NCCL can move it without copies.
 *
 * <p><b>Ownership:</b> belongs to its communicator, which closes it if it is still open then;
 * closing it earlier is allowed, twice is nothing.
 */
public final class NcclRegistration extends NativeResource {
  private final NcclCommunicator communicator;
  private final CudaBuffer buffer;
  private final long handle;

  NcclRegistration(NcclCommunicator communicator, CudaBuffer buffer, long handle) {
    super(communicator);
    this.communicator = communicator;
    this.buffer = buffer;
    this.handle = handle;
  }

  /**
   * What is registered.
   *
   * @return the buffer
   */
  public CudaBuffer buffer() {
    return buffer;
  }

  @Override
  protected void free() {
    communicator.forget(this);
    RankState state = communicator.state();
    if (state.failure() == null) {
      state.manage(
          "ncclCommDeregister",
          () -> NcclCalls.ncclCommDeregister(state.context.address(), state.handle(), handle),
          state.config.closeTimeout());
    }
  }

  @Override
  public String toString() {
    return "registration of " + buffer + " with " + communicator;
  }
}
