package org.metrale.gpu.nccl;

import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;

/**
 * A buffer that a communicator knows beforehand, so that NCCL can move it without copies.
 *
 * <p><b>Ownership:</b> keeps the buffer's memory open. Belongs to its communicator, which closes it
 * if it is still open then; closing it earlier is allowed, twice is nothing.
 */
public final class NcclRegistration extends NativeResource {
  private final Registered registered;

  NcclRegistration(Registered registered) {
    super(registered.needs());
    this.registered = registered;
  }

  /**
   * What is registered.
   *
   * @return the buffer
   */
  public CudaBuffer buffer() {
    return registered.buffer();
  }

  @Override
  protected void free() {
    registered.end(
        this,
        "ncclCommDeregister",
        state ->
            NcclCalls.ncclCommDeregister(
                state.context.address(), state.handle(), registered.handle()));
  }

  @Override
  public String toString() {
    return "registration of " + registered.buffer() + " with " + registered.communicator();
  }
}
