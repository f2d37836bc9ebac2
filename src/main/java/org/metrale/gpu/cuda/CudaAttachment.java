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
  private static final ThreadLocal<CudaAttachment> INNERMOST = new ThreadLocal<>();

  private final CudaContext context;
  private final Thread thread = Thread.currentThread();

  /** What was attached to the thread before; null if nothing was. */
  private final CudaAttachment outer = INNERMOST.get();

  /** Whether nothing was attached later. Only its thread reads and writes it. */
  private boolean innermost = true;

  private CudaAttachment(CudaContext context) {
    super(context);
    this.context = context;
    if (outer != null) {
      outer.innermost = false;
    }
    INNERMOST.set(this);
  }

  /**
   * What was attached to the calling thread last and is still. Not for programs.
   *
   * @return the attachment, or null
   */
  public static CudaAttachment innermost() {
    return INNERMOST.get();
  }

  /**
   * Whether nothing was attached to the thread later, nor this closed. Not for programs: only for
   * the thread that it belongs to.
   *
   * @return true if its context is what is current, unless somebody else changed that
   */
  public boolean isInnermost() {
    return innermost;
  }

  /**
   * What is attached.
   *
   * @return the context
   */
  public CudaContext context() {
    return context;
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
    innermost = false;
    if (outer == null) {
      INNERMOST.remove();
    } else {
      INNERMOST.set(outer);
      outer.innermost = true;
    }
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
