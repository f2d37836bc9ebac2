package org.metrale.tools;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.time.Duration;
import java.util.Optional;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.nccl.NcclCommunicator;

/** One rank of this process: its device, its stream, two buffers and its communicator. */
record DemoRank(
    CudaContext context,
    CudaStream stream,
    DeviceMemory sendMemory,
    DeviceMemory recvMemory,
    NcclCommunicator communicator) {
  private static final Duration COPY_TIMEOUT = Duration.ofSeconds(30);
  private static final byte STALE = (byte) 0xff;

  CudaBuffer send(long bytes) {
    return sendMemory.buffer(0, bytes);
  }

  CudaBuffer recv(long bytes) {
    return recvMemory.buffer(0, bytes);
  }

  /** Puts this rank's numbers into the send buffer and what no result contains into the other. */
  void prepare(long bytes) throws ToolException, InterruptedException {
    ByteBuffer host = host(bytes);
    FloatBuffer numbers = host.asFloatBuffer();
    for (int i = 0; i < numbers.limit(); i++) {
      numbers.put(i, DemoExercise.value(communicator.rank(), i));
    }
    require(context.copy(CudaBuffer.of(host), send(bytes), COPY_TIMEOUT));
    require(context.fill(recv(bytes), STALE, COPY_TIMEOUT));
  }

  /** The first wrong number of a result, in words; empty if all are right. */
  Optional<String> check(DemoExercise exercise, long bytes)
      throws ToolException, InterruptedException {
    int ranks = communicator.ranks();
    int elements = (int) (bytes / DemoExercise.FLOAT);
    int results = exercise.resultElements(ranks, elements);
    ByteBuffer host = host((long) results * DemoExercise.FLOAT);
    require(context.copy(recv(host.capacity()), CudaBuffer.of(host), COPY_TIMEOUT));
    FloatBuffer numbers = host.asFloatBuffer();
    for (int i = 0; i < results; i++) {
      float wanted = exercise.expected(communicator.rank(), ranks, i, elements);
      if (numbers.get(i) != wanted) {
        return Optional.of(
            "rank "
                + communicator.rank()
                + " has "
                + numbers.get(i)
                + " at "
                + i
                + ", not "
                + wanted);
      }
    }
    return Optional.empty();
  }

  private static ByteBuffer host(long bytes) {
    return ByteBuffer.allocateDirect(Math.toIntExact(bytes)).order(ByteOrder.nativeOrder());
  }

  private static void require(boolean inTime) throws ToolException {
    if (!inTime) {
      throw new ToolException("a copy took longer than " + COPY_TIMEOUT.toSeconds() + " s");
    }
  }
}
