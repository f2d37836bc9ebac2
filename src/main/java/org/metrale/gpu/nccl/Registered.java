package org.metrale.gpu.nccl;

import java.util.function.ToIntFunction;
import java.util.stream.Stream;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;

/**
 * What registrations and windows have in common: a buffer that a communicator knows by a handle.
 */
final class Registered {
  private final NcclCommunicator communicator;
  private final CudaBuffer buffer;

  /** What NCCL calls it; 0 until it is registered, while everything needed is open already. */
  private volatile long handle;

  Registered(NcclCommunicator communicator, CudaBuffer buffer) {
    this.communicator = communicator;
    this.buffer = buffer;
  }

  NcclCommunicator communicator() {
    return communicator;
  }

  CudaBuffer buffer() {
    return buffer;
  }

  long handle() {
    return handle;
  }

  void begun(long made) {
    handle = made;
  }

  /** The communicator and whoever frees the buffer. */
  NativeResource[] needs() {
    return Stream.concat(Stream.of(communicator), Stream.of(buffer.owners()))
        .toArray(NativeResource[]::new);
  }

  /** Ends it; a communicator that is broken has forgotten it, or will when it is aborted. */
  void end(NativeResource self, String call, ToIntFunction<RankState> nativeCall) {
    communicator.forget(self);
    RankState state = communicator.state();
    if (handle != 0 && state.failure() == null) {
      state.manage(call, () -> nativeCall.applyAsInt(state), state.config.closeTimeout());
    }
  }
}
