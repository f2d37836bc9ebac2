package org.metrale.gpu.nccl;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;

/** A communicator of local ranks for tests, each with a device, a stream and two buffers. */
final class Ranks implements AutoCloseable {
  static final Duration LIMIT = Duration.ofSeconds(20);
  static final NcclConfig CONFIG =
      NcclConfig.builder()
          .initTimeout(LIMIT)
          .operationTimeout(Duration.ofSeconds(10))
          .closeTimeout(LIMIT)
          .abortTimeout(Duration.ofSeconds(5))
          .build();

  /** One rank. */
  record Rank(
      CudaContext context,
      CudaStream stream,
      DeviceMemory send,
      DeviceMemory recv,
      NcclCommunicator communicator) {
    /** Adds up the first four numbers of all ranks; the operation's number. */
    long reduce() {
      return communicator.allReduce(
          send.buffer(), recv.buffer(), 4, NcclDataType.INT32, NcclRedOp.SUM, stream);
    }
  }

  private final List<AutoCloseable> opened = new ArrayList<>();
  private final List<Rank> ranks = new ArrayList<>();

  Ranks(int count, long bytes, NcclConfig config) throws InterruptedException {
    SoftwareHost.requireDevices(count);
    List<CudaContext> contexts = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      contexts.add(opened(CudaContext.openPrimary(i)));
    }
    List<CudaStream> streams = new ArrayList<>();
    List<DeviceMemory> memory = new ArrayList<>();
    for (CudaContext context : contexts) {
      streams.add(opened(CudaStream.create(context)));
      memory.add(opened(DeviceMemory.allocate(context, bytes)));
      memory.add(opened(DeviceMemory.allocate(context, bytes)));
    }
    List<NcclCommunicator> all = NcclCommunicator.joinLocal(contexts, config);
    for (int i = 0; i < count; i++) {
      opened(all.get(i));
      ranks.add(
          new Rank(
              contexts.get(i),
              streams.get(i),
              memory.get(2 * i),
              memory.get(2 * i + 1),
              all.get(i)));
    }
  }

  private <T extends AutoCloseable> T opened(T one) {
    opened.add(one);
    return one;
  }

  Rank get(int rank) {
    return ranks.get(rank);
  }

  List<Rank> all() {
    return ranks;
  }

  static void write(Rank rank, CudaBuffer target, byte[] bytes) throws InterruptedException {
    ByteBuffer host = ByteBuffer.allocateDirect(bytes.length).order(ByteOrder.nativeOrder());
    host.put(bytes).flip();
    if (bytes.length > 0
        && !rank.context.copy(CudaBuffer.of(host), target.slice(0, bytes.length), LIMIT)) {
      throw new AssertionError("a copy took too long");
    }
  }

  static byte[] read(Rank rank, CudaBuffer source, int length) throws InterruptedException {
    ByteBuffer host = ByteBuffer.allocateDirect(length);
    if (length > 0 && !rank.context.copy(source.slice(0, length), CudaBuffer.of(host), LIMIT)) {
      throw new AssertionError("a copy took too long");
    }
    byte[] out = new byte[length];
    host.get(out);
    return out;
  }

  @Override
  public void close() {
    List<Thread> closing = new ArrayList<>();
    RuntimeException[] problem = new RuntimeException[1];
    for (Rank rank : ranks) {
      Thread thread =
          new Thread(
              () -> {
                try {
                  rank.communicator.close();
                } catch (RuntimeException e) {
                  problem[0] = e;
                }
              });
      thread.start();
      closing.add(thread);
    }
    try {
      for (Thread thread : closing) {
        thread.join();
      }
      for (int i = opened.size() - 1; i >= 0; i--) {
        opened.get(i).close();
      }
    } catch (Exception e) {
      throw new AssertionError("closing failed", e);
    }
    if (problem[0] != null) {
      throw problem[0];
    }
  }
}
