package org.metrale.gpu.nccl;

import org.bytedeco.javacpp.LongPointer;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaEvent;

/**
 * The events that tell how far a communicator has come: a ring, each made when first needed. An
 * event that is recorded again stands for the later operation, and that one ends after the earlier.
 */
final class OperationEvents {
  private static final int CAPACITY = 64;

  private final CudaContext context;
  private final CudaEvent[] events = new CudaEvent[CAPACITY];

  /** The same for Java and for C. */
  private final long[] handles = new long[CAPACITY];

  private final LongPointer shared = new LongPointer(CAPACITY);

  OperationEvents(CudaContext context) {
    this.context = context;
  }

  int capacity() {
    return CAPACITY;
  }

  /** The handle of an operation's event. Behind the communicator's gate. */
  long of(long sequence) {
    int index = (int) sequence & (CAPACITY - 1);
    long handle = handles[index];
    return handle != 0 ? handle : make(index);
  }

  /** The event of an operation that was issued. Behind the communicator's gate. */
  CudaEvent event(long sequence) {
    return events[(int) sequence & (CAPACITY - 1)];
  }

  @SuppressWarnings("MustBeClosed") // closed by close()
  private long make(int index) {
    CudaEvent event = CudaEvent.create(context);
    events[index] = event;
    handles[index] = event.address();
    shared.put(index, event.address());
    return event.address();
  }

  /** Where C finds the handles. */
  long address() {
    return shared.address();
  }

  /** How many operations from the first on have passed, or the failure. */
  int passed(long first, int count) {
    return NcclCalls.passed(
        context.address(), shared.address(), CAPACITY, (int) first & (CAPACITY - 1), count);
  }

  void close() {
    RuntimeException first = null;
    for (CudaEvent event : events) {
      try {
        if (event != null) {
          event.close();
        }
      } catch (RuntimeException e) {
        if (first == null) {
          first = e;
        } else {
          first.addSuppressed(e);
        }
      }
    }
    shared.close();
    if (first != null) {
      throw first;
    }
  }
}
