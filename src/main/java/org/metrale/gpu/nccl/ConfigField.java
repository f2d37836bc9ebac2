package org.metrale.gpu.nccl;

/**
 * The fields of NCCL's configuration in the order of the structure: where each ends, and the first
 * version whose structure has it.
 *
 * <p>The structure's name lags behind its content, so the version decides. Fields whose first
 * version no library at hand tells count from the version of the header.
 */
enum ConfigField {
  BLOCKING("blocking", 20, 2_14_03),
  CGA_CLUSTER_SIZE("cgaClusterSize", 24, 2_17_01),
  MIN_CTAS("minCTAs", 28, 2_17_01),
  MAX_CTAS("maxCTAs", 32, 2_17_01),
  NET_NAME("netName", 40, 2_17_01),
  SPLIT_SHARE("splitShare", 44, 2_18_01),
  TRAFFIC_CLASS("trafficClass", 48, 2_26_02),
  COMM_NAME("commName", 56, 2_27_03),
  COLLNET_ENABLE("collnetEnable", 60, 2_27_03),
  CTA_POLICY("CTAPolicy", 64, 2_27_03),
  SHRINK_SHARE("shrinkShare", 68, 2_27_03),
  NVLS_CTAS("nvlsCTAs", 72, 2_27_03),
  N_CHANNELS_PER_NET_PEER("nChannelsPerNetPeer", 76, 2_28_03),
  NVLINK_CENTRIC_SCHED("nvlinkCentricSched", 80, 2_28_03),
  GRAPH_USAGE_MODE("graphUsageMode", 84, 2_29_02),
  NUM_RMA_CTX("numRmaCtx", 88, 2_29_02),
  MAX_P2P_PEERS("maxP2pPeers", 92, 2_30_00),
  GRAPH_STREAM_ORDERING("graphStreamOrdering", 96, 2_30_05),
  LAUNCH_ORDER_IMPLICIT("launchOrderImplicit", 100, 2_32_03),
  NUM_RMA_SIG("numRmaSig", 104, 2_32_03),
  RMA_EAGER_INIT("rmaEagerInit", 108, 2_32_03),
  HOST_CFT_MODE("hostCftMode", 112, 2_32_03),
  NVLS_HOST_MODE("nvlsHostMode", 116, 2_32_03);

  /** What precedes the fields: size, magic and version. */
  private static final int HEAD_BYTES = 16;

  private static final int ALIGNMENT = 8;

  final String cName;
  final int endBytes;
  final int firstVersion;

  ConfigField(String cName, int endBytes, int firstVersion) {
    this.cName = cName;
    this.endBytes = endBytes;
    this.firstVersion = firstVersion;
  }

  /** Where the field's value is in the array that the shim takes, after size and version. */
  @SuppressWarnings("EnumOrdinal") // the order is the structure's
  int place() {
    return ordinal() + 2;
  }

  /** The size of the structure that a version of the library knows. */
  static int structBytes(int version) {
    int end = HEAD_BYTES;
    for (ConfigField field : values()) {
      if (version >= field.firstVersion) {
        end = field.endBytes;
      }
    }
    return (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
}
