package org.metrale.gpu.nvtx;

/**
 * A range on the stack of the thread that pushed it; closing pops it.
 *
 * <p>Close it in the thread that pushed it and before what it lies in: a tool pops whatever is
 * innermost. A close out of order is noticed, counted in {@link NvtxTool#misplacedCloses()} and
 * logged once, while a tool is attached or {@code org.metrale.nvtx.check} is set. On a virtual
 * thread, which moves between stacks, the tool is given a span instead.
 *
 * <p>Without a tool all ranges are one object that does nothing.
 */
public final class NvtxRange implements AutoCloseable {
  /** What is handed out while nothing is to be done. */
  static final NvtxRange OFF = new NvtxRange(null, null, 0, 0, null);

  private final NvtxName name;
  private final NvtxStack stack;
  private final long pushed;
  private final long span;
  private final NvtxEvent event;

  private NvtxRange(NvtxName name, NvtxStack stack, long pushed, long span, NvtxEvent event) {
    this.name = name;
    this.stack = stack;
    this.pushed = pushed;
    this.span = span;
    this.event = event;
  }

  static NvtxRange open(NvtxName name, int payloadType, long payload) {
    NvtxEvent event = NvtxTool.RECORDED ? NvtxEvent.begin(name) : null;
    if (!NvtxTool.CHECKED) {
      return new NvtxRange(name, null, 0, 0, event);
    }
    NvtxStack stack = NvtxStack.ofThread();
    long span = 0;
    if (NvtxTool.ATTACHED) {
      if (stack.ofVirtualThread()) {
        span = NvtxCalls.nvtxDomainRangeStartEx(name, payloadType, payload);
      } else {
        NvtxCalls.nvtxDomainRangePushEx(name, payloadType, payload);
      }
    }
    return new NvtxRange(name, stack, stack.push(name.domain()), span, event);
  }

  /**
   * Ends the range.
   *
   * @wraps {@code nvtxDomainRangePop}; nvToolsExt.h, NVTX 3
   */
  @Override
  public void close() {
    if (NvtxTool.ON && name != null) {
      end();
    }
  }

  private void end() {
    if (NvtxTool.CHECKED && stack.pop(pushed, name) && NvtxTool.ATTACHED) {
      if (stack.ofVirtualThread()) {
        NvtxCalls.nvtxDomainRangeEnd(name.domainHandle(), span);
      } else {
        NvtxCalls.nvtxDomainRangePop(name.domainHandle());
      }
    }
    if (NvtxTool.RECORDED && event != null) {
      event.commitOnce();
    }
  }
}
