package org.metrale.gpu.nccl;

import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;

/**
 * Memory that all ranks of a communicator have registered together, so that each can reach the
 * others'.
 *
 * <p><b>Ownership:</b> keeps the buffer's memory open. Belongs to its communicator, which closes it
 * if it is still open then; closing it earlier is allowed, twice is nothing. Closing is collective
 * in NCCL; here it has a deadline.
 */
public final class NcclWindow extends NativeResource {
  private final Registered registered;

  NcclWindow(Registered registered) {
    super(registered.needs());
    this.registered = registered;
  }

  /**
   * This rank's part.
   *
   * @return the buffer that was registered
   */
  public CudaBuffer buffer() {
    return registered.buffer();
  }

  NcclCommunicator communicator() {
    return registered.communicator();
  }

  long handle() {
    if (isClosed()) {
      throw new IllegalStateException(this + " is closed");
    }
    return registered.handle();
  }

  @Override
  protected void free() {
    registered.end(
        this,
        "ncclCommWindowDeregister",
        state ->
            NcclCalls.ncclCommWindowDeregister(
                state.context.address(), state.handle(), registered.handle()));
  }

  @Override
  public String toString() {
    return "window on " + registered.buffer() + " of " + registered.communicator();
  }
}
