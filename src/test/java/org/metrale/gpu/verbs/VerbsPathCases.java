package org.metrale.gpu.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.metrale.global.verbs;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.RdmaDevices;
import org.metrale.verbs.metrale_ibv_qp_attr;
import org.metrale.verbs.metrale_ibv_qp_init;

/** What is asked of a path is what the device's queue pair has. */
@Timeout(60)
abstract class VerbsPathCases {
  /** No number is the default, and none is there twice. */
  private static final VerbsPath PATH =
      new VerbsPath(1, VerbsPath.CHOOSE_GID, 0, 3, 104, 33, 512, 11, 5, 4, 9);

  static metrale_ibv_qp_attr asked(VerbsEnd end) {
    metrale_ibv_qp_attr out = new metrale_ibv_qp_attr();
    assertEquals(
        0, verbs.metrale_ibv_query_qp(end.prepared.handle(), out, new metrale_ibv_qp_init()));
    return out;
  }

  @Test
  void everyNumberOfItIsTheQueuePairs() throws Exception {
    VerbsAccess rights = VerbsAccess.REMOTE_READ;
    VerbsEnd[] ends =
        VerbsEnd.pair(
            RdmaDevices.clients().get(0),
            new VerbsQueueSettings(4, rights, PATH),
            RdmaDevices.servers().get(0),
            new VerbsQueueSettings(4, VerbsAccess.READ_WRITE, PATH));
    try (VerbsEnd one = ends[0];
        VerbsEnd other = ends[1]) {
      metrale_ibv_qp_attr now = asked(one);
      assertEquals(verbs.METRALE_IBV_QPS_RTS, now.qp_state());
      assertEquals(
          List.of(1, 104, 11, 5, 4, 9),
          List.of(
              now.port_num(),
              now.traffic_class(),
              now.timeout(),
              now.retry_cnt(),
              now.rnr_retry(),
              now.min_rnr_timer()));
      // Soft-RoCE has no such levels, and Linux takes the limit of its route.
      boolean emulated = NativeLibrary.IBVERBS.isEmulated();
      assertEquals(emulated ? 3 : 0, now.service_level());
      assertEquals(emulated ? 33 : 64, now.hop_limit());
      assertEquals(verbs.METRALE_IBV_MTU_512, now.path_mtu());
      assertEquals(rights.flags(), now.access_flags() & VerbsAccess.READ_WRITE.flags());
      VerbsLimits limits = one.device.limits();
      assertEquals(Math.min(16, limits.readsOut()), now.max_rd_atomic());
      assertEquals(Math.min(16, limits.readsIn()), now.max_dest_rd_atomic());
      assertEquals(other.prepared.number(), now.dest_qp_num());
      assertEquals(other.prepared.packetNumber(), now.rq_psn());
      assertEquals(one.prepared.gid().gidIndex(), now.sgid_index());
      byte[] peer = new byte[VerbsGid.BYTES];
      for (int i = 0; i < peer.length; i++) {
        peer[i] = now.dgid(i);
      }
      assertArrayEquals(other.prepared.gid().gid().bytes(), peer);
    }
  }
}
