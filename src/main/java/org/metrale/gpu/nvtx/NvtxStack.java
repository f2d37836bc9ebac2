package org.metrale.gpu.nvtx;

import java.lang.System.Logger.Level;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The ranges that one thread has open, innermost last; kept because a tool's answer is not enough.
 */
final class NvtxStack {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.nvtx");
  private static final AtomicLong MISPLACED = new AtomicLong();
  private static final AtomicBoolean LOGGED = new AtomicBoolean();

  /** {@code Thread.isVirtual}, or a constant no where the JDK has no virtual threads. */
  private static final MethodHandle IS_VIRTUAL = isVirtualHandle();

  private static final ThreadLocal<NvtxStack> OF_THREAD = ThreadLocal.withInitial(NvtxStack::new);

  private final Thread owner = Thread.currentThread();
  private final boolean virtual = isVirtual();
  private long[] open = new long[16];
  private int[] domains = new int[16];
  private int depth;
  private long serial;

  static NvtxStack ofThread() {
    return OF_THREAD.get();
  }

  static boolean isVirtual() {
    try {
      return (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
    } catch (Throwable e) {
      throw new IllegalStateException("Thread.isVirtual failed", e);
    }
  }

  static long misplaced() {
    return MISPLACED.get();
  }

  /** A virtual thread moves between the stacks that a tool keeps: its ranges are spans instead. */
  boolean ofVirtualThread() {
    return virtual;
  }

  /** Notes a range and answers what the stack knows it by. */
  long push(NvtxDomain domain) {
    if (depth == open.length) {
      open = Arrays.copyOf(open, depth * 2);
      domains = Arrays.copyOf(domains, depth * 2);
    }
    long pushed = ++serial;
    open[depth] = pushed;
    domains[depth++] = domain.number();
    return pushed;
  }

  /** Takes a range off; answers false if this thread has no such range open. */
  boolean pop(long pushed, NvtxName name) {
    if (Thread.currentThread() == owner && depth > 0 && open[depth - 1] == pushed) {
      depth--;
      return true;
    }
    return popMisplaced(pushed, name);
  }

  private boolean popMisplaced(long pushed, NvtxName name) {
    if (Thread.currentThread() != owner) {
      misplaced(name, "by " + Thread.currentThread().getName() + ", pushed by " + owner.getName());
      return false;
    }
    int inside = 0;
    for (int at = depth - 1; at >= 0; at--) {
      if (open[at] == pushed) {
        if (inside > 0) {
          misplaced(name, "while " + inside + " inside it were open: a tool swaps their ends");
        }
        System.arraycopy(open, at + 1, open, at, depth - 1 - at);
        System.arraycopy(domains, at + 1, domains, at, depth - 1 - at);
        depth--;
        return true;
      }
      // Each domain has a stack of its own.
      inside += domains[at] == name.domain().number() ? 1 : 0;
    }
    misplaced(name, "twice");
    return false;
  }

  private static void misplaced(NvtxName name, String how) {
    MISPLACED.incrementAndGet();
    if (LOGGED.compareAndSet(false, true)) {
      LOG.log(
          Level.WARNING,
          "NVTX range {0} was closed {1}; later ones are counted and not logged",
          name,
          how);
    }
  }

  private static MethodHandle isVirtualHandle() {
    try {
      return MethodHandles.lookup()
          .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
    } catch (NoSuchMethodException | IllegalAccessException e) {
      return MethodHandles.dropArguments(
          MethodHandles.constant(boolean.class, false), 0, Thread.class);
    }
  }
}
