package org.metrale.gpu.nccl;

import java.util.function.BiConsumer;
import java.util.function.ToIntFunction;
import org.metrale.gpu.LibraryUnavailableException;

/**
 * What NCCL knows about a communicator and what it can do.
 *
 * @param rank this rank, from 0
 * @param ranks how many there are
 * @param cudaOrdinal the device in CUDA's order
 * @param nvmlIndex the device in NVML's order
 * @param hasDeviceApi whether kernels can communicate by themselves
 * @param hasMultimem whether the fabric combines and multiplies
 * @param networkKind how kernels reach the network, an {@code ncclGinType_t}; 0: not at all
 * @param loadStoreTeams how many teams of ranks there are that reach each other's memory directly
 * @param hasHostRma whether the host can put and signal
 * @param railedNetworkKind the same as {@code networkKind} for ranks of one rail
 * @param hash the communicator's, the same on all ranks; unsigned
 */
public record NcclProperties(
    int rank,
    int ranks,
    int cudaOrdinal,
    int nvmlIndex,
    boolean hasDeviceApi,
    boolean hasMultimem,
    int networkKind,
    int loadStoreTeams,
    boolean hasHostRma,
    int railedNetworkKind,
    long hash) {
  static final String CALL = "ncclCommQueryProperties";

  /** The structure is in another header and grows; this is the version whose layout is known. */
  private static final int FIRST_VERSION = 2_32_03;

  private static final int NUMBERS = 13;

  static NcclProperties of(RankState state, BiConsumer<String, ToIntFunction<RankState>> manage) {
    if (!NcclLibrary.supports(CALL) || NcclCalls.version() < FIRST_VERSION) {
      throw LibraryUnavailableException.missing("nccl", CALL);
    }
    long[] all = new long[NUMBERS];
    manage.accept(CALL, one -> NcclCalls.ncclCommQueryProperties(one.handle(), all));
    return new NcclProperties(
        (int) all[0],
        (int) all[1],
        (int) all[2],
        (int) all[3],
        all[4] != 0,
        all[5] != 0,
        (int) all[6],
        (int) all[7],
        all[8] != 0,
        (int) all[9],
        all[10]);
  }
}
