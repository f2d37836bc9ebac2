package org.metrale.gpu.nccl;

import java.nio.ByteBuffer;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaStream;

/** One operation that was written down for a group. */
record GroupItem(
    RankState state,
    NcclOperationKind kind,
    CudaBuffer send,
    CudaBuffer recv,
    long count,
    NcclDataType type,
    int op,
    int peer,
    CudaStream stream,
    Signal signal) {
  /** The further arguments of one-sided operations; the window is null where there is none. */
  record Signal(NcclWindow window, long offsetBytes) {
    static final Signal NONE = new Signal(null, 0);
  }

  void requireOpen() {
    if (send != null) {
      send.requireOpen();
    }
    if (recv != null) {
      recv.requireOpen();
    }
  }

  /** In the layout of {@code metrale_nccl_operation}; a closed window is refused. */
  void write(ByteBuffer to) {
    to.putInt(kind.code()).putInt(type.code());
    to.putInt(op).putInt(peer);
    to.putLong(state.handle());
    to.putLong(send == null ? 0 : send.address());
    to.putLong(recv == null ? 0 : recv.address());
    to.putLong(count);
    to.putLong(stream.slot()).putLong(stream.generation());
    to.putLong(signal.window == null ? 0 : signal.window.handle()).putLong(signal.offsetBytes);
    // Signal and context 0: NCCL's own counters.
    to.putInt(0).putInt(0);
    to.putInt(0).putInt(0);
  }
}
