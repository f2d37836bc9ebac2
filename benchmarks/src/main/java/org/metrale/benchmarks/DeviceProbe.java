package org.metrale.benchmarks;

import java.time.Duration;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaEvent;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cuda.HostMemory;
import org.metrale.gpu.nccl.NcclCommunicator;
import org.metrale.gpu.nccl.NcclConfig;
import org.metrale.gpu.nccl.NcclDataType;
import org.metrale.gpu.nccl.NcclRedOp;
import org.metrale.gpu.nccl.NcclUniqueId;

/**
 * What calls cost on a device, whatever stands behind it; the no-op libraries measure the way there
 * alone. Part of the hardware kit: uses nothing but the library.
 */
final class DeviceProbe {
  private static final Duration LONG = Duration.ofMinutes(1);
  private static final int BYTES = 64 << 20;
  private static final int FLOATS = 1024;

  /** Calls that may wait for the device at a time. */
  private static final int CALLS = 256;

  private static final int BATCHES = 40;

  private DeviceProbe() {}

  /** One call. */
  private interface Call {
    void run();
  }

  public static void main(String[] arguments) throws InterruptedException {
    try (CudaContext context = CudaContext.openPrimary(0);
        CudaStream stream = CudaStream.create(context);
        CudaStream other = CudaStream.create(context);
        CudaEvent event = CudaEvent.create(context)) {
      String cuda = Level.of(NativeLibrary.CUDA);
      say("stream query", cuda, stream, stream::isIdle);
      say("event record", cuda, stream, () -> stream.record(event));
      say("stream wait", cuda, other, () -> other.waitFor(event));
      copies(context, cuda);
      allReduce(context, stream);
    }
    Runtime.getRuntime().halt(0);
  }

  private static void copies(CudaContext context, String level) throws InterruptedException {
    try (DeviceMemory device = DeviceMemory.allocate(context, BYTES);
        HostMemory host = HostMemory.allocate(context, BYTES)) {
      copy("copy of 64 MiB to the device", level, context, host.buffer(), device.buffer());
      copy("copy of 64 MiB from the device", level, context, device.buffer(), host.buffer());
    }
  }

  private static void copy(
      String work, String level, CudaContext context, CudaBuffer from, CudaBuffer to)
      throws InterruptedException {
    double[] nanos = new double[Setting.childPace().choose(1, 5, 15)];
    // The first one is not counted.
    for (int i = -1; i < nanos.length; i++) {
      long begin = System.nanoTime();
      require(context.copy(from, to, LONG));
      if (i >= 0) {
        nanos[i] = System.nanoTime() - begin;
      }
    }
    Probe.say(work, "checked", level, "ns/op", nanos);
  }

  /** The submission alone, which returns before the device is done. */
  private static void allReduce(CudaContext context, CudaStream stream)
      throws InterruptedException {
    try (NcclCommunicator alone =
            NcclCommunicator.join(
                context, NcclUniqueId.create(), 1, 0, NcclConfig.builder().build());
        DeviceMemory send = DeviceMemory.allocate(context, FLOATS * Float.BYTES);
        DeviceMemory recv = DeviceMemory.allocate(context, FLOATS * Float.BYTES)) {
      CudaBuffer from = send.buffer();
      CudaBuffer to = recv.buffer();
      say(
          "all-reduce of 4 KiB submitted, 1 rank",
          Level.of(NativeLibrary.NCCL),
          stream,
          () -> alone.allReduce(from, to, FLOATS, NcclDataType.FLOAT32, NcclRedOp.SUM, stream));
    }
  }

  /** Times batches of a call; the device catches up in between, which is not timed. */
  private static void say(String work, String level, CudaStream stream, Call call)
      throws InterruptedException {
    int repeats = Setting.childPace().repeats();
    double[] nanos = new double[repeats];
    for (int i = -1; i < repeats; i++) {
      double[] batches = new double[BATCHES];
      for (int batch = 0; batch < BATCHES; batch++) {
        long begin = System.nanoTime();
        for (int at = 0; at < CALLS; at++) {
          call.run();
        }
        batches[batch] = (double) (System.nanoTime() - begin) / CALLS;
        require(stream.synchronize(LONG));
      }
      // The first repeat warms up.
      if (i >= 0) {
        nanos[i] = Row.median(batches);
      }
    }
    Probe.say(work, "checked", level, "ns/op", nanos);
  }

  private static void require(boolean done) {
    if (!done) {
      throw new IllegalStateException("the device was not done in " + LONG);
    }
  }
}
