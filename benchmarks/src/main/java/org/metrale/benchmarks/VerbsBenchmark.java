package org.metrale.benchmarks;

import java.lang.invoke.MethodHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.Pointer;
import org.metrale.global.verbs;
import org.metrale.gpu.NativeLibrary;
import org.metrale.verbs.ibv_comp_channel;
import org.metrale.verbs.ibv_context;
import org.metrale.verbs.ibv_cq;
import org.metrale.verbs.ibv_device;
import org.metrale.verbs.ibv_pd;
import org.metrale.verbs.ibv_qp;
import org.metrale.verbs.metrale_ibv_qp_init;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;

/** 64 work requests filled, posted and reaped; counted by request. */
@State(Scope.Benchmark)
public class VerbsBenchmark {
  /** The checked layer's objects. */
  @State(Scope.Thread)
  public static class Checked {
    QueuePair pair;

    /** Opens them. */
    @Setup
    public void setUp() {
      pair = new QueuePair();
    }
  }

  /** The shim's flat calls on a queue pair of its own, with no checks. */
  @State(Scope.Thread)
  public static class Flat {
    static final int REQUEST_BYTES = 64;
    static final int COMPLETION_BYTES = 48;
    final ByteBuffer requests = buffer(QueuePair.COUNT * REQUEST_BYTES + 8);
    final ByteBuffer completions = buffer(QueuePair.COUNT * COMPLETION_BYTES);
    final long requestAddress = new Pointer(requests).address();
    final long completionAddress = new Pointer(completions).address();
    long pair;
    long queue;

    /** Makes a queue pair. */
    @Setup
    public void setUp() {
      NoOp.require(NativeLibrary.IBVERBS);
      long[] list = new long[1];
      ibv_device device = new ibv_device(null);
      ibv_context context = new ibv_context(null);
      ibv_pd domain = new ibv_pd(null);
      ibv_comp_channel channel = new ibv_comp_channel(null);
      ibv_cq completionQueue = new ibv_cq(null);
      ibv_qp queuePair = new ibv_qp(null);
      metrale_ibv_qp_init init = new metrale_ibv_qp_init();
      init.max_send_wr(256).max_recv_wr(1).max_send_sge(1).max_recv_sge(1);
      init.max_inline_bytes(0).qp_type(verbs.METRALE_IBV_QPT_RC).sq_sig_all(0).reserved(0);
      check(verbs.metrale_ibv_get_device_list(list));
      check(verbs.metrale_ibv_device_at(list[0], 0, device));
      check(verbs.metrale_ibv_open_device(device, context));
      check(verbs.metrale_ibv_alloc_pd(context, domain));
      check(verbs.metrale_ibv_create_comp_channel(context, channel));
      check(verbs.metrale_ibv_create_cq(context, 512, channel, 0, completionQueue));
      check(
          verbs.metrale_ibv_create_qp(
              domain, completionQueue, completionQueue, null, init, queuePair));
      pair = queuePair.address();
      queue = completionQueue.address();
      fill();
    }

    void fill() {
      for (int i = 0; i < QueuePair.COUNT; i++) {
        int at = i * REQUEST_BYTES;
        requests.putLong(at, i);
        requests.putLong(at + 8, 0x1000L + i * 4096L);
        requests.putLong(at + 16, 0x7f00_0000_0000L + i * 4096L);
        requests.putInt(at + 40, 4096);
        requests.putInt(at + 44, 7);
        requests.putInt(at + 48, 0x1234);
        requests.putInt(at + 52, verbs.METRALE_IBV_WR_RDMA_READ);
        requests.putInt(at + 56, verbs.METRALE_IBV_SEND_SIGNALED);
      }
    }

    int postAndPoll() {
      long accepted = requestAddress + QueuePair.COUNT * REQUEST_BYTES;
      int taken = verbs.metrale_ibv_post_send_flat(pair, requestAddress, QueuePair.COUNT, accepted);
      int count = verbs.metrale_ibv_poll_cq_flat(queue, completionAddress, QueuePair.COUNT);
      if (taken != QueuePair.COUNT || count != QueuePair.COUNT) {
        throw new IllegalStateException(taken + " taken, " + count + " completions");
      }
      return count;
    }

    private static ByteBuffer buffer(int bytes) {
      return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
    }

    private static void check(int code) {
      if (code < 0) {
        throw new IllegalStateException("code " + code);
      }
    }
  }

  /**
   * What a program does that has nothing but the header's layout: {@code ibv_post_send} and {@code
   * ibv_poll_cq} are inline functions over two pointers in the context.
   */
  @State(Scope.Thread)
  public static class Ffm {
    private static final int CONTEXT_POLL = 96;
    private static final int CONTEXT_POST = 208;
    private static final int REQUEST_BYTES = 128;
    private static final int PART_BYTES = 16;
    private static final int COMPLETION_BYTES = 48;

    final ByteBuffer requests = Flat.buffer(QueuePair.COUNT * REQUEST_BYTES);
    final ByteBuffer parts = Flat.buffer(QueuePair.COUNT * PART_BYTES);
    final ByteBuffer completions = Flat.buffer(QueuePair.COUNT * COMPLETION_BYTES);
    final ByteBuffer bad = Flat.buffer(Long.BYTES);
    final long requestAddress = new Pointer(requests).address();
    final long partAddress = new Pointer(parts).address();
    final long completionAddress = new Pointer(completions).address();
    final long badAddress = new Pointer(bad).address();
    long pair;
    long queue;

    /** Makes a queue pair by the shim; the first long of one is its context. */
    @Setup
    public void setUp() {
      Flat made = new Flat();
      made.setUp();
      pair = made.pair;
      queue = made.queue;
    }

    /** The function at this place of the context's table. */
    static long function(int offset) {
      Flat made = new Flat();
      made.setUp();
      long context = new LongPointer(new Address(made.pair)).get();
      return new LongPointer(new Address(context + offset)).get();
    }

    void fill() {
      for (int i = 0; i < QueuePair.COUNT; i++) {
        int part = i * PART_BYTES;
        parts.putLong(part, 0x1000L + i * 4096L);
        parts.putInt(part + 8, 4096);
        parts.putInt(part + 12, 7);
        int at = i * REQUEST_BYTES;
        for (int word = 0; word < REQUEST_BYTES; word += Long.BYTES) {
          requests.putLong(at + word, 0);
        }
        boolean last = i + 1 == QueuePair.COUNT;
        requests.putLong(at, i);
        requests.putLong(at + 8, last ? 0 : requestAddress + at + REQUEST_BYTES);
        requests.putLong(at + 16, partAddress + part);
        requests.putInt(at + 24, 1);
        requests.putInt(at + 28, verbs.METRALE_IBV_WR_RDMA_READ);
        requests.putInt(at + 32, verbs.METRALE_IBV_SEND_SIGNALED);
        requests.putLong(at + 40, 0x7f00_0000_0000L + i * 4096L);
        requests.putInt(at + 48, 0x1234);
      }
    }

    long reap(int refused, int count) {
      if (refused != 0 || count != QueuePair.COUNT) {
        throw new IllegalStateException("refused: " + refused + ", " + count + " completions");
      }
      long sum = 0;
      for (int i = 0; i < count; i++) {
        int at = i * COMPLETION_BYTES;
        if (completions.getInt(at + 8) != 0) {
          throw new IllegalStateException("failed");
        }
        sum += completions.getLong(at) + completions.getInt(at + 20);
      }
      return sum;
    }
  }

  /** Where no object is. */
  private static final class Address extends Pointer {
    Address(long address) {
      super((Pointer) null);
      this.address = address;
    }
  }

  /** Constants, as a compiler needs them. */
  static final class Handles {
    static final MethodHandle POST = post(false);
    static final MethodHandle POST_CRITICAL = post(true);
    static final MethodHandle POLL = poll(false);
    static final MethodHandle POLL_CRITICAL = poll(true);

    private Handles() {}

    private static MethodHandle post(boolean critical) {
      return Foreign.function(
          Ffm.function(Ffm.CONTEXT_POST), critical, int.class, long.class, long.class, long.class);
    }

    private static MethodHandle poll(boolean critical) {
      return Foreign.function(
          Ffm.function(Ffm.CONTEXT_POLL), critical, int.class, long.class, int.class, long.class);
    }
  }

  @Benchmark
  @OperationsPerInvocation(QueuePair.COUNT)
  public long postReap_ffm(Ffm f) throws Throwable {
    f.fill();
    int refused = (int) Handles.POST.invokeExact(f.pair, f.requestAddress, f.badAddress);
    int count = (int) Handles.POLL.invokeExact(f.queue, QueuePair.COUNT, f.completionAddress);
    return f.reap(refused, count);
  }

  @Benchmark
  @OperationsPerInvocation(QueuePair.COUNT)
  public long postReap_ffmCritical(Ffm f) throws Throwable {
    f.fill();
    int refused = (int) Handles.POST_CRITICAL.invokeExact(f.pair, f.requestAddress, f.badAddress);
    int count =
        (int) Handles.POLL_CRITICAL.invokeExact(f.queue, QueuePair.COUNT, f.completionAddress);
    return f.reap(refused, count);
  }

  @Benchmark
  @OperationsPerInvocation(QueuePair.COUNT)
  public long postReap_checked(Checked checked) {
    return checked.pair.postAndReap();
  }

  @Benchmark
  @OperationsPerInvocation(QueuePair.COUNT)
  public int postReap_shim(Flat flat) {
    return flat.postAndPoll();
  }

  @Benchmark
  @OperationsPerInvocation(QueuePair.COUNT)
  public long postReap_flat(Flat flat) {
    flat.fill();
    int count = flat.postAndPoll();
    long sum = 0;
    for (int i = 0; i < count; i++) {
      int at = i * Flat.COMPLETION_BYTES;
      if (flat.completions.getInt(at + 8) != 0) {
        throw new IllegalStateException("failed");
      }
      sum += flat.completions.getLong(at) + flat.completions.getInt(at + 20);
    }
    return sum;
  }
}
