package org.metrale.gpu.nccl;

import com.google.errorprone.annotations.MustBeClosed;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.ToLongFunction;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaEvent;
import org.metrale.gpu.cuda.CudaStream;

/**
 * Lets a communicator work beside a compute stream, in the right order, without the host waiting.
 *
 * <p>{@link #run} queues: the communication stream waits for what the compute stream has now, does
 * the operations, and the compute stream waits for them. {@link #runDeferred} leaves the last step
 * to {@link #join}, so that computation goes on meanwhile.
 *
 * <p><b>Ownership:</b> keeps both streams open; its own events are closed with it. Deferred work
 * has an event of its own, so that any number may be open at once.
 *
 * <p><b>Threading:</b> one call at a time.
 */
public final class NcclStreamBridge extends NativeResource {
  private final CudaStream compute;
  private final CudaStream communication;
  private final CudaEvent before;
  private final CudaEvent after;
  private final ArrayDeque<CudaEvent> idle = new ArrayDeque<>();
  private final List<CudaEvent> made = new ArrayList<>();

  private NcclStreamBridge(CudaStream compute, CudaStream communication) {
    super(compute, communication);
    this.compute = compute;
    this.communication = communication;
    this.before = event();
    this.after = event();
  }

  /**
   * Joins two streams of one device.
   *
   * @param compute where the program computes
   * @param communication where its communicators work
   * @return the bridge; close it
   * @throws IllegalArgumentException if they are the same, or of different devices
   * @throws IllegalStateException if one of them is closed
   */
  @MustBeClosed
  public static NcclStreamBridge between(CudaStream compute, CudaStream communication) {
    if (compute.address() == communication.address()) {
      throw new IllegalArgumentException("a stream is in order with itself: no bridge is needed");
    }
    if (!compute.context().device().equals(communication.context().device())) {
      throw new IllegalArgumentException(
          compute + " and " + communication + " do not belong together");
    }
    return new NcclStreamBridge(compute, communication);
  }

  /** Deferred work that the compute stream has not joined yet. */
  public static final class Deferred {
    private final NcclStreamBridge bridge;
    private final long sequence;
    private CudaEvent event;

    private Deferred(NcclStreamBridge bridge, CudaEvent event, long sequence) {
      this.bridge = bridge;
      this.event = event;
      this.sequence = sequence;
    }

    /**
     * The number that the operations returned.
     *
     * @return the operation's number
     */
    public long sequence() {
      return sequence;
    }
  }

  /**
   * Runs operations after what is queued on the compute stream, and lets that wait for them.
   *
   * @param operations issues operations on the stream it is given; returns their last number
   * @return what {@code operations} returned
   * @throws IllegalStateException if this bridge is closed
   */
  public synchronized long run(ToLongFunction<CudaStream> operations) {
    acquire();
    try {
      long sequence = begin(operations);
      communication.record(after);
      compute.waitFor(after);
      return sequence;
    } finally {
      release();
    }
  }

  /**
   * Runs operations after what is queued on the compute stream; that goes on until {@link #join}.
   *
   * @param operations issues operations on the stream it is given; returns their last number
   * @return the work, to be joined
   * @throws IllegalStateException if this bridge is closed
   */
  public synchronized Deferred runDeferred(ToLongFunction<CudaStream> operations) {
    acquire();
    try {
      long sequence = begin(operations);
      CudaEvent event = idle.isEmpty() ? event() : idle.pop();
      communication.record(event);
      return new Deferred(this, event, sequence);
    } finally {
      release();
    }
  }

  /**
   * Lets the compute stream wait for deferred work.
   *
   * @param deferred of this bridge; once
   * @throws IllegalArgumentException if it belongs to another bridge
   * @throws IllegalStateException if it was joined already, or this bridge is closed
   */
  public synchronized void join(Deferred deferred) {
    if (deferred.bridge != this) {
      throw new IllegalArgumentException("the work belongs to another bridge");
    }
    acquire();
    try {
      if (deferred.event == null) {
        throw new IllegalStateException("the work was joined already");
      }
      compute.waitFor(deferred.event);
      // A wait that is queued has taken the event's state: it may be recorded again.
      idle.push(deferred.event);
      deferred.event = null;
    } finally {
      release();
    }
  }

  @Override
  protected void free() {
    made.forEach(CudaEvent::close);
  }

  @Override
  public String toString() {
    return "bridge between " + compute + " and " + communication;
  }

  private long begin(ToLongFunction<CudaStream> operations) {
    Objects.requireNonNull(operations, "operations");
    compute.record(before);
    communication.waitFor(before);
    return operations.applyAsLong(communication);
  }

  @SuppressWarnings("MustBeClosed") // closed by free()
  private CudaEvent event() {
    CudaEvent out = CudaEvent.create(compute.context());
    made.add(out);
    return out;
  }
}
