package org.metrale.gpu.nccl;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaStream;

/**
 * The one thread that may issue operations of a communicator without taking its gate, and what it
 * is issuing.
 *
 * <p>The thread writes down what it does and that it is inside, with plain stores; then, in the
 * native call that issues the operation, it compares its epoch. Whoever takes the communicator away
 * from it raises the epoch, makes all processors show their stores, and looks here. See {@code
 * metrale_nccl_rank}: one of the two always notices.
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

  /** Of the ownership; only for the thread itself. */
  long epoch;

  /** Native memory of the communicator, which stays readable after the communicator's end. */
  long memory;

  private CudaBuffer send;
  private CudaBuffer recv;
  private CudaStream stream;
  private long what;
  private long count;

  @SuppressWarnings("UnusedVariable") // read and written by the handle
  private boolean busy;

  Owner(Thread thread) {
    this.thread = thread;
  }

  /**
   * From here on the thread is inside.
   *
   * @param what as for the call, with the peer
   */
  void begin(long what, CudaBuffer send, CudaBuffer recv, long count, CudaStream stream) {
    // What the operation before wrote into the ring comes first, for who asks here and then there.
    VarHandle.storeStoreFence();
    // Storing a reference costs more than looking, and a program that goes round uses the same.
    if (this.send != send) {
      this.send = send;
    }
    if (this.recv != recv) {
      this.recv = recv;
    }
    if (this.stream != stream) {
      this.stream = stream;
    }
    this.what = what;
    this.count = count;
    BUSY.setRelease(this, true);
  }

  void end() {
    BUSY.setRelease(this, false);
  }

  boolean isBusy() {
    return (boolean) BUSY.getAcquire(this);
  }

  /** Whether it is issuing an operation with a memory; to be asked before the ring is. */
  boolean uses(NativeResource memory) {
    return isBusy()
        && ((send != null && send.isOwnedBy(memory)) || (recv != null && recv.isOwnedBy(memory)));
  }

  NcclOperationKind kind() {
    return FlightRing.kindOf(what);
  }

  /** What it is issuing. */
  NcclFlightRecord.Entry entry(long sequence) {
    CudaStream on = stream;
    return FlightRing.entry(
        sequence,
        FlightRing.withoutPeer(what),
        count,
        (int) (what >>> FlightRing.PEER_SHIFT),
        on == null ? 0 : on.address(),
        NcclFlightRecord.State.RUNNING,
        NcclWatchdog.coarseNanos,
        0);
  }
}
