package org.metrale.gpu.nccl;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Objects;

/**
 * Hands one rank's id to all ranks before a communicator exists, by whatever the program already
 * has: a barrier of its engine, MPI, a store.
 *
 * <p>Every rank's contribution carries its rank and the number of ranks, so that a job put together
 * wrongly fails here, on every rank, instead of hanging in NCCL. For programs that have nothing,
 * see {@link NcclTcpBootstrap}.
 */
public final class NcclBootstrap {
  private static final int MAGIC = 0x4d4e4331;
  private static final int BYTES = 3 * Integer.BYTES + NcclUniqueId.BYTES;

  /** Gathers one array of bytes from every rank. */
  @FunctionalInterface
  public interface AllGather {
    /**
     * Gives this rank's bytes and receives everybody's.
     *
     * @param mine this rank's bytes, the same length on every rank
     * @return the bytes of all ranks, by rank
     * @throws IOException if a peer is gone
     */
    byte[][] gather(byte[] mine) throws IOException;
  }

  private NcclBootstrap() {}

  /**
   * Agrees on an id over an all-gather.
   *
   * <p><b>Blocking:</b> as long as the function does.
   *
   * @param allGather called once
   * @param ranks how many ranks there are
   * @param rank which one this is
   * @return the id that rank 0 made
   * @throws IOException if the function fails, or the ranks do not fit together
   * @throws IllegalArgumentException if the rank is not one of the ranks
   * @throws NcclException if rank 0 cannot make an id
   */
  public static NcclUniqueId agree(AllGather allGather, int ranks, int rank) throws IOException {
    Objects.requireNonNull(allGather, "allGather");
    if (ranks < 1 || rank < 0 || rank >= ranks) {
      throw new IllegalArgumentException("rank " + rank + " is not one of " + ranks + " ranks");
    }
    byte[] id = rank == 0 ? NcclUniqueId.create().toBytes() : new byte[NcclUniqueId.BYTES];
    ByteBuffer mine = ByteBuffer.allocate(BYTES);
    mine.putInt(MAGIC).putInt(ranks).putInt(rank).put(id);
    byte[][] all = allGather.gather(mine.array());
    if (all.length != ranks) {
      throw new IOException("the all-gather gave " + all.length + " parts for " + ranks + " ranks");
    }
    for (int i = 0; i < ranks; i++) {
      check(all[i], ranks, i);
    }
    byte[] agreed = new byte[NcclUniqueId.BYTES];
    ByteBuffer.wrap(all[0]).position(BYTES - NcclUniqueId.BYTES).get(agreed);
    return NcclUniqueId.of(agreed);
  }

  private static void check(byte[] part, int ranks, int rank) throws IOException {
    if (part == null || part.length != BYTES) {
      throw new IOException("rank " + rank + " contributed something else than an id");
    }
    ByteBuffer read = ByteBuffer.wrap(part);
    int magic = read.getInt();
    int theirRanks = read.getInt();
    int theirRank = read.getInt();
    if (magic != MAGIC || theirRanks != ranks || theirRank != rank) {
      throw new IOException(
          "at place "
              + rank
              + " of "
              + ranks
              + " is a contribution of rank "
              + theirRank
              + " of "
              + theirRanks);
    }
  }
}
