package org.metrale.gpu.nvtx;

import jdk.jfr.Category;
import jdk.jfr.Description;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/** A range or span in a flight recording. */
@Name("org.metrale.NvtxRange")
@Label("NVTX Range")
@Category("NVTX")
@Description("A range that a profiler sees too")
@StackTrace(false)
final class NvtxEvent extends Event {
  @Label("Domain")
  String domain;

  @Label("Name")
  String range;

  @Label("Category")
  String group;

  private transient boolean committed; // not part of the event

  static NvtxEvent begin(NvtxName name) {
    NvtxEvent event = new NvtxEvent();
    event.domain = name.domain().name();
    event.range = name.toString();
    event.group = name.categoryName();
    event.begin();
    return event;
  }

  void commitOnce() {
    if (!committed) {
      committed = true;
      commit();
    }
  }
}
