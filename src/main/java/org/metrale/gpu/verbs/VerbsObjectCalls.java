package org.metrale.gpu.verbs;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.bytedeco.javacpp.PointerScope;
import org.metrale.global.verbs;
import org.metrale.verbs.ibv_comp_channel;
import org.metrale.verbs.ibv_context;
import org.metrale.verbs.ibv_cq;
import org.metrale.verbs.ibv_mr;
import org.metrale.verbs.ibv_pd;
import org.metrale.verbs.ibv_qp;
import org.metrale.verbs.ibv_srq;
import org.metrale.verbs.metrale_ibv_mr;
import org.metrale.verbs.metrale_ibv_qp_attr;
import org.metrale.verbs.metrale_ibv_qp_init;
import org.metrale.verbs.metrale_ibv_srq_attr;

/** The calls that make, change and release objects. */
@SuppressWarnings("try") // a scope is there for what is allocated in it
final class VerbsObjectCalls {
  private VerbsObjectCalls() {}

  static ibv_pd allocateDomain(ibv_context context) {
    ibv_pd out = new ibv_pd(null);
    VerbsCalls.check("ibv_alloc_pd", verbs.metrale_ibv_alloc_pd(context, out), "");
    return out;
  }

  static void freeDomain(ibv_pd domain) {
    VerbsCalls.check("ibv_dealloc_pd", verbs.metrale_ibv_dealloc_pd(domain), "");
  }

  static ibv_mr register(ibv_pd domain, long address, long lengthBytes, int access) {
    ibv_mr out = new ibv_mr(null);
    int code = verbs.metrale_ibv_reg_mr(domain, address, lengthBytes, access, out);
    if (code < 0) {
      String detail =
          "address=0x" + Long.toHexString(address) + " lengthBytes=" + lengthBytes + " access=";
      VerbsCalls.check(
          "ibv_reg_mr",
          code,
          detail
              + new VerbsAccess(access)
              + lockedMemory(code)
              + readOnlyMapping(code, access)
              + onDemand(code, access));
    }
    return out;
  }

  static ibv_mr registerDmaBuf(ibv_pd domain, VerbsDmaBuf part, int access) {
    ibv_mr out = new ibv_mr(null);
    int code =
        verbs.metrale_ibv_reg_dmabuf_mr(
            domain,
            part.offset(),
            part.lengthBytes(),
            part.address(),
            part.fileDescriptor(),
            access,
            out);
    VerbsCalls.check("ibv_reg_dmabuf_mr", code, part.toString());
    return out;
  }

  static void deregister(ibv_mr region) {
    VerbsCalls.check("ibv_dereg_mr", verbs.metrale_ibv_dereg_mr(region), "");
  }

  /** The local key above the remote one. */
  static long keys(ibv_mr region) {
    try (PointerScope scope = new PointerScope()) {
      metrale_ibv_mr found = new metrale_ibv_mr();
      VerbsCalls.check("ibv_reg_mr", verbs.metrale_ibv_describe_mr(region, found), "");
      return ((long) found.lkey() << 32) | (found.rkey() & 0xFFFF_FFFFL);
    }
  }

  static ibv_comp_channel createChannel(ibv_context context) {
    ibv_comp_channel out = new ibv_comp_channel(null);
    VerbsCalls.check(
        "ibv_create_comp_channel", verbs.metrale_ibv_create_comp_channel(context, out), "");
    int fd = verbs.metrale_ibv_comp_channel_fd(out);
    int code = fd < 0 ? fd : verbs.metrale_ibv_set_nonblocking(fd);
    if (code < 0) {
      verbs.metrale_ibv_destroy_comp_channel(out);
      VerbsCalls.check("fcntl", code, "completion channel");
    }
    return out;
  }

  static int descriptor(ibv_comp_channel channel) {
    return verbs.metrale_ibv_comp_channel_fd(channel);
  }

  static void destroyChannel(ibv_comp_channel channel) {
    VerbsCalls.check(
        "ibv_destroy_comp_channel", verbs.metrale_ibv_destroy_comp_channel(channel), "");
  }

  static ibv_cq createCompletionQueue(ibv_context context, int entries, ibv_comp_channel channel) {
    ibv_cq out = new ibv_cq(null);
    VerbsCalls.check(
        "ibv_create_cq",
        verbs.metrale_ibv_create_cq(context, entries, channel, 0, out),
        "entries=" + entries);
    return out;
  }

  static int entries(ibv_cq queue) {
    return verbs.metrale_ibv_cq_entries(queue);
  }

  static void destroyCompletionQueue(ibv_cq queue) {
    VerbsCalls.check("ibv_destroy_cq", verbs.metrale_ibv_destroy_cq(queue), "");
  }

  /** Makes a shared receive queue, whose events have its number. */
  static ibv_srq createSharedReceiveQueue(ibv_pd domain, int number, int depth) {
    ibv_srq out = new ibv_srq(null);
    try (PointerScope scope = new PointerScope()) {
      metrale_ibv_srq_attr attributes = shared(depth, 0);
      VerbsCalls.check(
          "ibv_create_srq",
          verbs.metrale_ibv_create_srq(domain, number, attributes, out),
          "depth=" + depth);
      return out;
    }
  }

  static void limit(ibv_srq queue, int requests) {
    try (PointerScope scope = new PointerScope()) {
      VerbsCalls.check(
          "ibv_modify_srq",
          verbs.metrale_ibv_modify_srq(queue, shared(0, requests), verbs.METRALE_IBV_SRQ_LIMIT),
          "limit=" + requests);
    }
  }

  static int limit(ibv_srq queue) {
    try (PointerScope scope = new PointerScope()) {
      metrale_ibv_srq_attr found = shared(0, 0);
      VerbsCalls.check("ibv_query_srq", verbs.metrale_ibv_query_srq(queue, found), "");
      return found.srq_limit();
    }
  }

  private static metrale_ibv_srq_attr shared(int depth, int limit) {
    return new metrale_ibv_srq_attr().max_wr(depth).max_sge(1).srq_limit(limit).reserved(0);
  }

  static void destroySharedReceiveQueue(ibv_srq queue) {
    VerbsCalls.check("ibv_destroy_srq", verbs.metrale_ibv_destroy_srq(queue), "");
  }

  /**
   * A queue pair as it was made.
   *
   * @param handle to be destroyed
   * @param inlineBytes how many bytes a request may have inline
   */
  record MadeQueuePair(ibv_qp handle, int inlineBytes) {}

  /**
   * Makes a queue pair and brings it to INIT; nothing is left of it if that fails.
   *
   * @param shared where it takes its receives from; null for a queue of its own
   */
  static MadeQueuePair createQueuePair(
      ibv_pd domain, ibv_cq queue, ibv_srq shared, VerbsQueueSettings settings) {
    ibv_qp out = new ibv_qp(null);
    try (PointerScope scope = new PointerScope()) {
      metrale_ibv_qp_init init = new metrale_ibv_qp_init();
      int receives = shared != null ? 0 : Math.max(1, settings.receiveDepth());
      init.max_send_wr(settings.sendDepth()).max_recv_wr(receives);
      init.max_send_sge(1).max_recv_sge(1).max_inline_bytes(settings.inlineBytes());
      init.qp_type(verbs.METRALE_IBV_QPT_RC).sq_sig_all(0).reserved(0);
      // Before there is a queue pair, for there may be no memory for them.
      metrale_ibv_qp_attr attributes = blank();
      attributes.qp_state(verbs.METRALE_IBV_QPS_INIT).pkey_index(settings.path().pkeyIndex());
      attributes.port_num(settings.path().portNumber());
      attributes.access_flags(settings.remoteAccess().flags());
      VerbsCalls.check(
          "ibv_create_qp",
          createWithin(domain, queue, shared, init, out),
          "sendDepth=" + settings.sendDepth() + " receiveDepth=" + settings.receiveDepth());
      int code = verbs.metrale_ibv_modify_qp(out, attributes, verbs.METRALE_IBV_QP_TO_INIT);
      if (code < 0) {
        verbs.metrale_ibv_destroy_qp(out);
        VerbsCalls.check("ibv_modify_qp", code, "to INIT " + settings.path());
      }
      return new MadeQueuePair(out, init.max_inline_bytes());
    }
  }

  /**
   * No device tells how many bytes it takes inline before a queue pair is made with them, and each
   * refuses more: half as many are asked for then, and none in the end.
   */
  private static int createWithin(
      ibv_pd domain, ibv_cq queue, ibv_srq shared, metrale_ibv_qp_init init, ibv_qp out) {
    int code = verbs.metrale_ibv_create_qp(domain, queue, queue, shared, init, out);
    while (aboveALimit(code) && init.max_inline_bytes() > 0) {
      init.max_inline_bytes(init.max_inline_bytes() / 2);
      code = verbs.metrale_ibv_create_qp(domain, queue, queue, shared, init, out);
    }
    return code;
  }

  private static boolean aboveALimit(int code) {
    return -code == verbs.metrale_ibv_errno(verbs.METRALE_IBV_EINVAL)
        || -code == verbs.metrale_ibv_errno(verbs.METRALE_IBV_ENOMEM);
  }

  static int number(ibv_qp pair) {
    return verbs.metrale_ibv_qp_num(pair);
  }

  /** INIT to RTR to RTS. */
  static void connect(ibv_qp pair, VerbsPath path, VerbsRoute route, VerbsRemote remote) {
    try (PointerScope scope = new PointerScope()) {
      metrale_ibv_qp_attr to = blank();
      to.qp_state(verbs.METRALE_IBV_QPS_RTR).path_mtu(mtuCode(route.mtuBytes()));
      to.dest_qp_num(remote.queuePairNumber()).rq_psn(remote.packetNumber());
      to.max_dest_rd_atomic(route.readsIn()).min_rnr_timer(path.minRnrTimer());
      boolean global = route.isGlobal();
      to.is_global(global ? 1 : 0).port_num(path.portNumber()).service_level(path.serviceLevel());
      to.dlid(remote.lid());
      if (global) {
        byte[] gid = remote.gid().bytes();
        for (int i = 0; i < gid.length; i++) {
          to.dgid(i, gid[i]);
        }
        to.sgid_index(route.gid().gidIndex()).hop_limit(path.hopLimit());
        to.traffic_class(path.trafficClass()).flow_label(0);
      }
      String where = remote + " by " + route;
      VerbsCalls.check(
          "ibv_modify_qp",
          verbs.metrale_ibv_modify_qp(pair, to, verbs.METRALE_IBV_QP_TO_RTR),
          "to RTR " + where);
      to.qp_state(verbs.METRALE_IBV_QPS_RTS).timeout(path.timeoutCode());
      to.retry_cnt(path.retryCount()).rnr_retry(path.rnrRetryCount());
      to.sq_psn(route.packetNumber()).max_rd_atomic(route.readsOut());
      VerbsCalls.check(
          "ibv_modify_qp",
          verbs.metrale_ibv_modify_qp(pair, to, verbs.METRALE_IBV_QP_TO_RTS),
          "to RTS " + where);
    }
  }

  /** Moves a queue pair to the error state, in which what is posted is flushed. */
  static void abort(ibv_qp pair) {
    try (PointerScope scope = new PointerScope()) {
      metrale_ibv_qp_attr to = blank();
      to.qp_state(verbs.METRALE_IBV_QPS_ERR);
      VerbsCalls.check(
          "ibv_modify_qp",
          verbs.metrale_ibv_modify_qp(pair, to, verbs.METRALE_IBV_QP_STATE),
          "to ERR");
    }
  }

  static void destroyQueuePair(ibv_qp pair) {
    VerbsCalls.check("ibv_destroy_qp", verbs.metrale_ibv_destroy_qp(pair), "");
  }

  static void forkInit() {
    VerbsCalls.check("ibv_fork_init", verbs.metrale_ibv_fork_init(), "");
  }

  private static metrale_ibv_qp_attr blank() {
    metrale_ibv_qp_attr out = new metrale_ibv_qp_attr();
    out.zero();
    return out;
  }

  private static int mtuCode(int bytes) {
    return Integer.numberOfTrailingZeros(bytes) - 7;
  }

  /** Kernels before 6.2 pin for writing whatever the access, which a shared mapping may forbid. */
  private static String readOnlyMapping(int code, int access) {
    boolean writes = (access & VerbsAccess.LOCAL_WRITE.flags()) != 0;
    return writes || -code != verbs.metrale_ibv_errno(verbs.METRALE_IBV_EFAULT)
        ? ""
        : "; if this is a file that was mapped read-only: before Linux 6.2 that has to be private,"
            + " MapMode.PRIVATE";
  }

  /** What few devices can, for the codes that do not say it. */
  private static String onDemand(int code, int access) {
    boolean asked = (access & VerbsAccess.ON_DEMAND.flags()) != 0;
    return asked
            && (-code == verbs.metrale_ibv_errno(verbs.METRALE_IBV_EOPNOTSUPP)
                || -code == verbs.metrale_ibv_errno(verbs.METRALE_IBV_EINVAL))
        ? "; few devices fetch pages on demand"
        : "";
  }

  /** What limits locked memory, for the one error that asks for it. */
  private static String lockedMemory(int code) {
    if (-code != verbs.metrale_ibv_errno(verbs.METRALE_IBV_ENOMEM)) {
      return "";
    }
    try {
      return Files.readAllLines(Path.of("/proc/self/limits")).stream()
          .filter(line -> line.startsWith("Max locked memory"))
          .map(
              line ->
                  " limit of locked memory="
                      + line.split("\\s+", -1)[3]
                      + "; raise it by ulimit -l, LimitMEMLOCK or --ulimit memlock=-1")
          .findFirst()
          .orElse("");
    } catch (IOException e) {
      return "";
    }
  }
}
