package org.metrale.benchmarks;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaDriver;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.nccl.NcclCommunicator;
import org.metrale.gpu.nccl.NcclConfig;
import org.metrale.gpu.nccl.NcclDataType;
import org.metrale.gpu.nccl.NcclRedOp;

/**
 * An all-reduce of 64 MiB over four ranks of the software GPU host, or over this machine's GPUs
 * where they are fewer.
 */
final class EmulatorProbe {
  private static final int MOST_RANKS = 4;
  private static final long BYTES = 64L << 20;
  private static final Duration LONG = Duration.ofMinutes(1);

  private EmulatorProbe() {}

  @SuppressWarnings("MustBeClosed") // the process ends
  public static void main(String[] arguments) throws InterruptedException {
    List<CudaContext> contexts = new ArrayList<>();
    List<CudaStream> streams = new ArrayList<>();
    List<DeviceMemory> send = new ArrayList<>();
    List<DeviceMemory> recv = new ArrayList<>();
    int ranks = Math.min(MOST_RANKS, CudaDriver.deviceCount());
    for (int rank = 0; rank < ranks; rank++) {
      contexts.add(CudaContext.openPrimary(rank));
      streams.add(CudaStream.create(contexts.get(rank)));
      send.add(DeviceMemory.allocate(contexts.get(rank), BYTES));
      recv.add(DeviceMemory.allocate(contexts.get(rank), BYTES));
    }
    List<NcclCommunicator> all = NcclCommunicator.joinLocal(contexts, NcclConfig.defaults());
    int times = Setting.childPace().choose(1, 3, 7);
    double[] nanos = new double[times];
    for (int i = -1; i < times; i++) {
      long begin = System.nanoTime();
      for (int rank = 0; rank < ranks; rank++) {
        all.get(rank)
            .allReduce(
                send.get(rank).buffer(),
                recv.get(rank).buffer(),
                BYTES / Float.BYTES,
                NcclDataType.FLOAT32,
                NcclRedOp.SUM,
                streams.get(rank));
      }
      for (CudaStream stream : streams) {
        if (!stream.synchronize(LONG)) {
          throw new IllegalStateException("not done in " + LONG);
        }
      }
      if (i >= 0) {
        nanos[i] = System.nanoTime() - begin;
      }
    }
    Probe.say(
        "all-reduce 64 MiB, " + ranks + (ranks == 1 ? " rank" : " ranks"),
        "checked",
        Level.of(NativeLibrary.NCCL),
        "ns/op",
        nanos);
    Runtime.getRuntime().halt(0);
  }
}
