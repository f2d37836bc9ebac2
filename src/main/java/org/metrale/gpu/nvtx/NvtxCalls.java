package org.metrale.gpu.nvtx;

import org.metrale.global.nvtx;

/** The generated NVTX calls, through the flat shims of {@code metrale_nvtx.h}. */
final class NvtxCalls {
  private NvtxCalls() {}

  /** Looks for a tool, once a process; loads the glue. */
  static boolean nvtxInitialize() {
    return nvtx.metrale_nvtx_attached() != 0;
  }

  static long nvtxDomainCreateA(byte[] name) {
    return nvtx.metrale_nvtx_domain_create(name);
  }

  static long nvtxDomainRegisterStringA(long domain, byte[] text) {
    return nvtx.metrale_nvtx_register(domain, text);
  }

  static void nvtxDomainNameCategoryA(long domain, int category, byte[] name) {
    nvtx.metrale_nvtx_name_category(domain, category, name);
  }

  static void nvtxNameOsThreadA(byte[] name) {
    nvtx.metrale_nvtx_name_thread(name);
  }

  static long prepare(NvtxName name) {
    return nvtx.metrale_nvtx_prepare(
        name.domainHandle(), name.handle(), name.categoryNumber(), name.argb());
  }

  static void nvtxDomainRangePushEx(NvtxName name, int payloadType, long payload) {
    if (payloadType == 0 && name.prepared() != 0) {
      nvtx.metrale_nvtx_push_prepared(name.prepared());
    } else if (name.handle() != 0) {
      nvtx.metrale_nvtx_push(
          name.domainHandle(),
          name.handle(),
          name.categoryNumber(),
          name.argb(),
          payloadType,
          payload);
    } else {
      nvtx.metrale_nvtx_push_text(
          name.domainHandle(),
          name.text(),
          name.categoryNumber(),
          name.argb(),
          payloadType,
          payload);
    }
  }

  static void nvtxDomainRangePop(long domain) {
    nvtx.metrale_nvtx_pop(domain);
  }

  static long nvtxDomainRangeStartEx(NvtxName name, int payloadType, long payload) {
    if (name.handle() != 0) {
      return nvtx.metrale_nvtx_start(
          name.domainHandle(),
          name.handle(),
          name.categoryNumber(),
          name.argb(),
          payloadType,
          payload);
    }
    return nvtx.metrale_nvtx_start_text(
        name.domainHandle(), name.text(), name.categoryNumber(), name.argb(), payloadType, payload);
  }

  static void nvtxDomainRangeEnd(long domain, long id) {
    nvtx.metrale_nvtx_end(domain, id);
  }

  static void nvtxDomainMarkEx(NvtxName name, int payloadType, long payload) {
    if (name.handle() != 0) {
      nvtx.metrale_nvtx_mark(
          name.domainHandle(),
          name.handle(),
          name.categoryNumber(),
          name.argb(),
          payloadType,
          payload);
    } else {
      nvtx.metrale_nvtx_mark_text(
          name.domainHandle(),
          name.text(),
          name.categoryNumber(),
          name.argb(),
          payloadType,
          payload);
    }
  }
}
