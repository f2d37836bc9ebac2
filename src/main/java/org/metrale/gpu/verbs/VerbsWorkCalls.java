package org.metrale.gpu.verbs;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.metrale.global.verbs;
import org.metrale.verbs.ibv_comp_channel;
import org.metrale.verbs.ibv_context;
import org.metrale.verbs.ibv_cq;
import org.metrale.verbs.ibv_qp;
import org.metrale.verbs.ibv_srq;
import org.metrale.verbs.metrale_ibv_async_event;

/** The calls of the data path, by addresses, and those that wait for it. */
@SuppressWarnings("try") // a scope is there for what is allocated in it
final class VerbsWorkCalls {
  /** RDMA WRITE's opcode. */
  static final int WRITE = verbs.METRALE_IBV_WR_RDMA_WRITE;

  /** RDMA READ's opcode. */
  static final int READ = verbs.METRALE_IBV_WR_RDMA_READ;

  /** A message's opcode. */
  static final int SEND = verbs.METRALE_IBV_WR_SEND;

  /** The atomic operations' opcodes. */
  static final int FETCH_AND_ADD = verbs.METRALE_IBV_WR_ATOMIC_FETCH_AND_ADD;

  static final int COMPARE_AND_SWAP = verbs.METRALE_IBV_WR_ATOMIC_CMP_AND_SWP;

  /** Asks for a completion. */
  static final int SIGNALED = verbs.METRALE_IBV_SEND_SIGNALED;

  /** Copies the bytes at the post; their memory is not looked at afterwards. */
  static final int INLINE = verbs.METRALE_IBV_SEND_INLINE;

  /** A completion's flag: it has immediate data. */
  static final int HAS_IMMEDIATE = verbs.METRALE_IBV_WC_WITH_IMM;

  /** The statuses that have a meaning of their own here. */
  static final int SUCCESS = verbs.METRALE_IBV_WC_SUCCESS;

  static final int FLUSHED = verbs.METRALE_IBV_WC_WR_FLUSH_ERR;

  private static final boolean LITTLE = ByteOrder.nativeOrder().equals(ByteOrder.LITTLE_ENDIAN);

  private VerbsWorkCalls() {}

  /**
   * Where a request in the form of libibverbs has its fields, and its size; in words of 8 bytes.
   */
  static final class Linked {
    static final int ID = verbs.METRALE_IBV_LINKED_ID / Long.BYTES;
    static final int NEXT = verbs.METRALE_IBV_LINKED_NEXT / Long.BYTES;
    static final int PARTS = verbs.METRALE_IBV_LINKED_PARTS / Long.BYTES;
    static final int PART_COUNT = verbs.METRALE_IBV_LINKED_PART_COUNT / Long.BYTES;
    static final int FLAGS = verbs.METRALE_IBV_LINKED_FLAGS / Long.BYTES;
    static final int REMOTE_ADDRESS = verbs.METRALE_IBV_LINKED_REMOTE_ADDR / Long.BYTES;
    static final int RKEY = verbs.METRALE_IBV_LINKED_RKEY / Long.BYTES;
    static final int COMPARE_OR_ADD = verbs.METRALE_IBV_LINKED_COMPARE_ADD / Long.BYTES;
    static final int SWAP = verbs.METRALE_IBV_LINKED_SWAP / Long.BYTES;
    static final int ATOMIC_RKEY = verbs.METRALE_IBV_LINKED_ATOMIC_RKEY / Long.BYTES;
    static final int SEND_PART = verbs.METRALE_IBV_LINKED_SEND_PART / Long.BYTES;
    static final int SEND_WORDS = verbs.METRALE_IBV_LINKED_SEND_BYTES / Long.BYTES;
    static final int RECEIVE_PART = verbs.METRALE_IBV_LINKED_RECV_PART / Long.BYTES;
    static final int RECEIVE_WORDS = verbs.METRALE_IBV_LINKED_RECV_BYTES / Long.BYTES;
    static final int PART_WORDS = verbs.METRALE_IBV_LINKED_PART_BYTES / Long.BYTES;

    private Linked() {}
  }

  /** Two neighbouring 32-bit fields as one word. */
  static long pair(int low, int high) {
    return LITTLE
        ? (low & 0xFFFF_FFFFL) | ((long) high << 32)
        : (high & 0xFFFF_FFFFL) | ((long) low << 32);
  }

  /** The first of two neighbouring 32-bit fields. */
  static int first(long word) {
    return (int) (LITTLE ? word : word >>> 32);
  }

  /** The second of two neighbouring 32-bit fields. */
  static int second(long word) {
    return (int) (LITTLE ? word >>> 32 : word);
  }

  /** A 32-bit field in the byte order of a network. */
  static int networkOrder(int value) {
    return LITTLE ? Integer.reverseBytes(value) : value;
  }

  static long address(ibv_qp pair) {
    return pair.address();
  }

  static long address(ibv_cq queue) {
    return queue.address();
  }

  static long address(ibv_srq queue) {
    return queue.address();
  }

  /** A zeroed buffer in the platform's byte order. */
  static ByteBuffer buffer(int bytes) {
    return ByteBuffer.allocateDirect(bytes).order(ByteOrder.nativeOrder());
  }

  static long address(ByteBuffer buffer) {
    return new Pointer(buffer).address();
  }

  /**
   * The number of requests taken, or a negated errno; {@code accepted} has the number then. They
   * get ids from {@code id} on.
   */
  static int post(long pair, long requests, int count, long id, long accepted) {
    return verbs.metrale_ibv_post_send_linked(pair, requests, count, id, WorkLedger.STEP, accepted);
  }

  /** As {@link #post}, for the receive queue. */
  static int postReceives(long pair, long requests, int count, long id, long accepted) {
    return verbs.metrale_ibv_post_recv_linked(pair, requests, count, id, WorkLedger.STEP, accepted);
  }

  /** As {@link #post}, for a shared receive queue; the requests have their ids. */
  static int postSharedReceives(long queue, long requests, int count, long accepted) {
    return verbs.metrale_ibv_post_srq_recv_linked(queue, requests, count, accepted);
  }

  /** The opcode that does the same with immediate data; negative if there is none. */
  static int withImmediate(int opcode) {
    return switch (opcode) {
      case verbs.METRALE_IBV_WR_SEND, verbs.METRALE_IBV_WR_SEND_WITH_IMM ->
          verbs.METRALE_IBV_WR_SEND_WITH_IMM;
      case verbs.METRALE_IBV_WR_RDMA_WRITE, verbs.METRALE_IBV_WR_RDMA_WRITE_WITH_IMM ->
          verbs.METRALE_IBV_WR_RDMA_WRITE_WITH_IMM;
      default -> -1;
    };
  }

  /**
   * The number of completions, and in the upper half how many from the first one on were done and
   * have ids that count up in steps; a negated errno.
   */
  static long poll(long queue, long completions, int capacity, long step) {
    return verbs.metrale_ibv_poll_cq_run(queue, completions, capacity, step);
  }

  static boolean isQueueFull(int code) {
    return -code == verbs.metrale_ibv_errno(verbs.METRALE_IBV_ENOMEM);
  }

  static void arm(long queue) {
    VerbsCalls.check("ibv_req_notify_cq", verbs.metrale_ibv_req_notify_cq_flat(queue, 0), "");
  }

  /** Takes and acknowledges the events that a channel with one queue has now. */
  static void drainEvents(ibv_comp_channel channel, ibv_cq queue) {
    long[] from = new long[1];
    int taken = 0;
    while (verbs.metrale_ibv_get_cq_event(channel, from) == 0) {
      taken++;
    }
    if (taken > 0) {
      verbs.metrale_ibv_ack_cq_events(queue, taken);
    }
  }

  /** Waits; true if the wake descriptor was used. */
  static boolean waitReadable(int descriptor, int wake, int timeoutMillis) {
    int code = verbs.metrale_ibv_wait_readable(descriptor, wake, timeoutMillis);
    if (-code == verbs.metrale_ibv_errno(verbs.METRALE_IBV_EINTR)) {
      return false;
    }
    return (VerbsCalls.check("poll", code, "descriptor=" + descriptor) & 2) != 0;
  }

  static int createWake() {
    return VerbsCalls.check("eventfd", verbs.metrale_ibv_create_wake(), "");
  }

  static void wake(int descriptor) {
    verbs.metrale_ibv_wake(descriptor);
  }

  static void closeWake(int descriptor) {
    verbs.metrale_ibv_close_wake(descriptor);
  }

  /** Closes a descriptor that somebody gave us; closing a wake descriptor is no more than that. */
  static void closeDescriptor(int descriptor) {
    verbs.metrale_ibv_close_wake(descriptor);
  }

  static String statusText(int status) {
    return VerbsCalls.text(out -> verbs.metrale_ibv_wc_status_str(status, out, out.length));
  }

  /** The descriptor of asynchronous events, made so that taking one never waits. */
  static int eventDescriptor(ibv_context context) {
    int fd = VerbsCalls.check("ibv_get_async_event", verbs.metrale_ibv_async_fd(context), "");
    VerbsCalls.check("fcntl", verbs.metrale_ibv_set_nonblocking(fd), "asynchronous events");
    return fd;
  }

  /** Takes and acknowledges the next event; null if there is none. */
  static VerbsEvent nextEvent(ibv_context context) {
    try (PointerScope scope = new PointerScope()) {
      metrale_ibv_async_event event = new metrale_ibv_async_event();
      int code = verbs.metrale_ibv_get_async_event(context, event);
      if (-code == verbs.metrale_ibv_errno(verbs.METRALE_IBV_EAGAIN)
          || -code == verbs.metrale_ibv_errno(verbs.METRALE_IBV_EINTR)) {
        return null;
      }
      VerbsCalls.check("ibv_get_async_event", code, "");
      try {
        return new VerbsEvent(
            new VerbsEventType(
                event.event_type(),
                VerbsCalls.text(
                    to -> verbs.metrale_ibv_event_type_str(event.event_type(), to, to.length))),
            event.port_num(),
            event.qp_num(),
            (int) event.srq_context());
      } finally {
        // Without that, what it is about could not be destroyed.
        verbs.metrale_ibv_ack_async_event(event);
      }
    }
  }
}
