package org.metrale.gpu.nvtx;

import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A range that any thread may end, once; spans may cross each other.
 *
 * <p>Without a tool all spans are one object that does nothing.
 */
public final class NvtxSpan implements AutoCloseable {
  /** What is handed out while nothing is to be done. */
  static final NvtxSpan OFF = new NvtxSpan(null, 0, null);

  private final NvtxName name;
  private final long id;
  private final NvtxEvent event;
  private final AtomicBoolean ended = new AtomicBoolean();

  private NvtxSpan(NvtxName name, long id, NvtxEvent event) {
    this.name = name;
    this.id = id;
    this.event = event;
  }

  static NvtxSpan open(NvtxName name, int payloadType, long payload) {
    NvtxEvent event = NvtxTool.RECORDED ? NvtxEvent.begin(name) : null;
    long id = NvtxTool.ATTACHED ? NvtxCalls.nvtxDomainRangeStartEx(name, payloadType, payload) : 0;
    return new NvtxSpan(name, id, event);
  }

  /**
   * Ends the span; a second close does nothing.
   *
   * @wraps {@code nvtxDomainRangeEnd}; nvToolsExt.h, NVTX 3
   */
  @Override
  public void close() {
    if (!NvtxTool.ON || name == null || !ended.compareAndSet(false, true)) {
      return;
    }
    if (NvtxTool.ATTACHED) {
      NvtxCalls.nvtxDomainRangeEnd(name.domainHandle(), id);
    }
    if (NvtxTool.RECORDED && event != null) {
      event.commitOnce();
    }
  }
}
