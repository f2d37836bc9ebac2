package org.metrale.benchmarks;

import java.time.Duration;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.nccl.NcclCommunicator;
import org.metrale.gpu.nccl.NcclConfig;
import org.metrale.gpu.nccl.NcclDataType;
import org.metrale.gpu.nccl.NcclRedOp;
import org.metrale.gpu.nccl.NcclUniqueId;

/** A communicator of one rank with a stream and two buffers, all through the checked layer. */
final class Rank implements AutoCloseable {
  static final int COUNT = 1024;

  final CudaContext context;
  final CudaStream stream;
  final DeviceMemory send;
  final DeviceMemory recv;
  final NcclCommunicator communicator;
  private final org.metrale.gpu.cuda.CudaBuffer from;
  private final org.metrale.gpu.cuda.CudaBuffer to;

  @SuppressWarnings("MustBeClosed") // close() does
  Rank() throws InterruptedException {
    NoOp.require(NativeLibrary.CUDA);
    NoOp.require(NativeLibrary.NCCL);
    context = CudaContext.openPrimary(0);
    stream = CudaStream.create(context);
    send = DeviceMemory.allocate(context, COUNT * Float.BYTES);
    recv = DeviceMemory.allocate(context, COUNT * Float.BYTES);
    from = send.buffer();
    to = recv.buffer();
    communicator =
        NcclCommunicator.join(
            context,
            NcclUniqueId.create(),
            1,
            0,
            NcclConfig.builder().operationTimeout(Duration.ofHours(1)).build());
  }

  long allReduce() {
    return communicator.allReduce(from, to, COUNT, NcclDataType.FLOAT32, NcclRedOp.SUM, stream);
  }

  @Override
  public void close() {
    communicator.close();
    send.close();
    recv.close();
    stream.close();
    context.close();
  }
}
