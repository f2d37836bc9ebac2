package org.metrale.gpu.nccl;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.metrale.gpu.cuda.CudaAttachment;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaStream;

/**
 * One ownership of a communicator: the thread that may issue operations without taking the gate,
 * and whether it is inside.
 *
 * <p>The thread writes down that it is inside, and into the flight recorder what it does, with
 * plain stores; then, in the native call that issues the operation, it compares its epoch. Whoever
 * takes the communicator away from it raises the epoch, makes all processors show their stores, and
 * looks here and into the recorder. See {@code metrale_nccl_rank}: one of the two always notices.
 *
 * <p>Memory that is about to be closed is taken away from all owners. So a buffer that was found
 * open in this ownership is open as long as the epoch holds: {@code CudaBuffer.isCheckedBy}.
 */
final class Owner {
  private static final VarHandle BUSY;

  static {
    try {
      BUSY = MethodHandles.lookup().findVarHandle(Owner.class, "busy", boolean.class);
    } catch (ReflectiveOperationException e) {
      throw new ExceptionInInitializerError(e);
    }
  }

  final Thread thread;

  /** Native memory of the communicator, which stays readable after the communicator's end. */
  final long memory;

  final long epoch;

  /** The number of the next operation. */
  long next;

  /** The last operation whose entry in the recorder is known to be free. */
  long roomUntil = -1;

  /** Where the operation before was, if it was an ordinary one; else null. */
  CudaStream stream;

  /** What keeps the communicator's context current on the thread, if anything was seen to. */
  private CudaAttachment attachment;

  @SuppressWarnings("UnusedVariable") // read and written by the handle
  private boolean busy;

  Owner(Thread thread, long memory, long epoch, long next) {
    this.thread = thread;
    this.memory = memory;
    this.epoch = epoch;
    this.next = next;
  }

  /** Whether a buffer was found usable in this ownership. */
  boolean knows(CudaBuffer buffer) {
    return buffer == null || buffer.isCheckedBy(this);
  }

  /** Whether a context is attached to the thread; now and then, since it is seldom news. */
  void lookForAttachment(CudaContext context) {
    CudaAttachment found = CudaAttachment.innermost();
    attachment = found != null && found.context().address() == context.address() ? found : null;
  }

  /** Whether the context is known to be current on the thread. */
  boolean isAttached() {
    CudaAttachment known = attachment;
    return known != null && known.isInnermost();
  }

  /** From here on the thread is inside. */
  void begin() {
    BUSY.setRelease(this, true);
  }

  void end() {
    BUSY.setRelease(this, false);
  }

  /** Whether the thread is inside; certain only after its epoch has passed and a barrier. */
  boolean isBusy() {
    return (boolean) BUSY.getAcquire(this);
  }
}
