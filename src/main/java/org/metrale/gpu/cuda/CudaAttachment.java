package org.metrale.gpu.cuda;

import com.google.errorprone.annotations.MustBeClosed;
import org.metrale.gpu.NativeResource;

/**
 * A context that stays current on one thread, so that calls made there need not make it current
 * each for itself: worth it for a thread that issues much work. Made by {@link
 * CudaContext#attach()}.
 *
 * <p><b>Ownership:</b> keeps its context open. Closing restores what was current before.
 *
 * <p><b>Threading:</b> belongs to the platform thread that made it and is closed there, the last
 * one first. What else changes the thread's current context meanwhile must have restored it.
 */
public final class CudaAttachment extends NativeResource {
  private final CudaContext context;
  private final Thread thread = Thread.currentThread();

  private CudaAttachment(CudaContext context) {
    super(context);
    this.context = context;
  }

  @MustBeClosed
  static CudaAttachment of(CudaContext context) {
    if (isVirtual(Thread.currentThread())) {
      throw new IllegalStateException(
          "a virtual thread changes the thread of the system that it runs on, so nothing can stay"
              + " current on it: attach a platform thread");
    }
    return context.making(
        () -> {
          CudaCalls.cuCtxPushCurrent(context.handle(), context.ordinal());
          return new CudaAttachment(context);
        });
  }

  @Override
  protected void closeOwn() {
    if (thread != Thread.currentThread()) {
      throw new IllegalStateException(this + " is to be closed by its own thread");
    }
    if (CudaCalls.cuCtxGetCurrent() != context.handle()) {
      throw new IllegalStateException(
          this + " is not what is current here: close what was attached later first");
    }
  }

  @Override
  protected void free() {
    CudaCalls.cuCtxPopCurrent(context.ordinal());
  }

  @Override
  public String toString() {
    return "attachment of " + thread.getName() + " to " + context;
  }

  /** By its class: Java 17 has no such question. */
  private static boolean isVirtual(Thread thread) {
    return thread.getClass().getName().equals("java.lang.VirtualThread");
  }
}
