package org.metrale.gpu.nccl;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeoutException;
import org.bytedeco.javacpp.BytePointer;
import org.metrale.gpu.BoundedCall;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;

/**
 * Device memory from NCCL's own allocator, which NCCL can share between devices without copies.
 *
 * <p><b>Ownership:</b> belongs to its communicator, which closes it if it is still open then;
 * closing it earlier is allowed unless a collective uses it, twice is nothing. Closing waits for
 * the device at most {@link NcclConfig#closeTimeout()}.
 */
public final class NcclMemory extends NativeResource {
  private final NcclCommunicator communicator;
  private final CudaBuffer all;

  NcclMemory(NcclCommunicator communicator, long address, long lengthBytes) {
    super(communicator);
    this.communicator = communicator;
    this.all = CudaBuffer.of(this, address, lengthBytes);
  }

  /**
   * The whole memory as a range.
   *
   * @return always the same object
   */
  public CudaBuffer buffer() {
    return all;
  }

  /**
   * A part of the memory.
   *
   * @param offsetBytes where it begins
   * @param partBytes how many bytes it has
   * @return the part
   * @throws IndexOutOfBoundsException if it is not inside
   */
  public CudaBuffer buffer(long offsetBytes, long partBytes) {
    return all.slice(offsetBytes, partBytes);
  }

  /**
   * The memory as a JavaCPP object, for a program that also calls CUDA itself.
   *
   * @return a pointer that owns nothing; not to be used after this is closed
   */
  public BytePointer pointer() {
    return NcclCalls.pointer(all.address(), all.lengthBytes());
  }

  @Override
  protected void free() {
    communicator.forget(this);
    RankState state = communicator.state();
    CompletableFuture<Integer> answer =
        BoundedCall.startOrRun(() -> NcclCalls.ncclMemFree(state.context.address(), all.address()));
    int code;
    try {
      code = BoundedCall.await(answer, state.config.closeTimeout());
    } catch (TimeoutException e) {
      throw new NcclException(
          "ncclMemFree",
          NcclResult.TIMEOUT,
          "not done within "
              + state.config.closeTimeout()
              + "; the memory is freed when the call comes back, if it does",
          "",
          state.detail());
    }
    if (code != NcclCalls.SUCCESS) {
      throw NcclCalls.failed("ncclMemFree", code, 0, state.detail());
    }
  }

  @Override
  public String toString() {
    return "NCCL memory, " + all;
  }
}
