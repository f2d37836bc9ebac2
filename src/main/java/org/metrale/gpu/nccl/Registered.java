package org.metrale.gpu.nccl;

import java.util.function.ToIntFunction;
import java.util.stream.Stream;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;

/**
 * What registrations and windows have in common: a buffer that a communicator knows by a handle.
 */
record Registered(NcclCommunicator communicator, CudaBuffer buffer, long handle) {
  /** The communicator and whoever frees the buffer. */
  NativeResource[] needs() {
    return Stream.concat(Stream.of(communicator), Stream.of(buffer.owners()))
        .toArray(NativeResource[]::new);
  }

  /** Ends it; a communicator that is broken has forgotten it, or will when it is aborted. */
  void end(NativeResource self, String call, ToIntFunction<RankState> nativeCall) {
    communicator.forget(self);
    RankState state = communicator.state();
    if (state.failure() == null) {
      state.manage(call, () -> nativeCall.applyAsInt(state), state.config.closeTimeout());
    }
  }
}
