package org.metrale.gpu.nvtx;

import java.util.Optional;

/**
 * Whether a profiler is attached.
 *
 * <p>It is looked for once a process, when this package is first used.
 */
public final class NvtxTool {
  /** A tool takes ranges: a constant to the JIT. */
  static final boolean ATTACHED;

  /** Nesting is checked. */
  static final boolean CHECKED;

  /** Ranges are flight recorder events too. */
  static final boolean RECORDED = Boolean.getBoolean("org.metrale.nvtx.jfr");

  /** Anything at all is to be done. */
  static final boolean ON;

  private static final LinkageError PROBLEM;

  static {
    boolean attached = false;
    LinkageError problem = null;
    try {
      attached = NvtxCalls.nvtxInitialize();
    } catch (LinkageError e) {
      // Without the glue there are no ranges; a program must not end for that.
      problem = e;
    }
    ATTACHED = attached;
    CHECKED = attached || Boolean.getBoolean("org.metrale.nvtx.check");
    ON = CHECKED || RECORDED;
    PROBLEM = problem;
  }

  private NvtxTool() {}

  /**
   * Whether a tool is attached that takes ranges.
   *
   * @return true if one is
   * @wraps {@code nvtxInitialize}; nvToolsExt.h, NVTX 3
   */
  public static boolean isAttached() {
    return ATTACHED;
  }

  /**
   * Why no tool can be attached to this process at all.
   *
   * @return what hindered loading the native part; empty if it is loaded
   */
  public static Optional<LinkageError> unavailabilityCause() {
    return Optional.ofNullable(PROBLEM);
  }

  /**
   * How many ranges were closed out of order, twice, or by a thread that did not push them.
   *
   * @return the count since the process began; 0 while nesting is not checked
   */
  public static long misplacedCloses() {
    return NvtxStack.misplaced();
  }

  /**
   * Names the thread of the operating system that runs the caller.
   *
   * <p><b>Threading:</b> a virtual thread has no such thread of its own; its carrier keeps its
   * name.
   *
   * @param name what the tool shows
   * @return false if no tool is attached or the caller is a virtual thread
   * @wraps {@code nvtxNameOsThreadA}; nvToolsExt.h, NVTX 3
   */
  public static boolean nameThread(String name) {
    if (!ATTACHED || NvtxStack.isVirtual()) {
      return false;
    }
    NvtxCalls.nvtxNameOsThreadA(NvtxText.bytes(name));
    return true;
  }
}
