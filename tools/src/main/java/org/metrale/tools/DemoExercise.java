package org.metrale.tools;

import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.nccl.NcclDataType;
import org.metrale.gpu.nccl.NcclGroup;
import org.metrale.gpu.nccl.NcclRedOp;

/** One operation of the demo: how it is issued, and what must come out by plain Java. */
enum DemoExercise {
  ALL_REDUCE("all-reduce") {
    @Override
    void issue(NcclGroup group, DemoRank rank, long bytes) {
      group.allReduce(
          rank.communicator(),
          rank.send(bytes),
          rank.recv(bytes),
          bytes / FLOAT,
          TYPE,
          SUM,
          rank.stream());
    }

    @Override
    float expected(int rank, int ranks, int element, int elements) {
      return sum(ranks, element);
    }
  },
  ALL_GATHER("all-gather") {
    @Override
    void issue(NcclGroup group, DemoRank rank, long bytes) {
      long part = bytes / rank.communicator().ranks();
      group.allGather(
          rank.communicator(),
          rank.send(part),
          rank.recv(bytes),
          part / FLOAT,
          TYPE,
          rank.stream());
    }

    @Override
    float expected(int rank, int ranks, int element, int elements) {
      int part = elements / ranks;
      return value(element / part, element % part);
    }
  },
  REDUCE_SCATTER("reduce-scatter") {
    @Override
    void issue(NcclGroup group, DemoRank rank, long bytes) {
      long part = bytes / rank.communicator().ranks();
      group.reduceScatter(
          rank.communicator(),
          rank.send(bytes),
          rank.recv(part),
          part / FLOAT,
          TYPE,
          SUM,
          rank.stream());
    }

    @Override
    int resultElements(int ranks, int elements) {
      return elements / ranks;
    }

    @Override
    float expected(int rank, int ranks, int element, int elements) {
      return sum(ranks, rank * (elements / ranks) + element);
    }
  },
  BROADCAST("broadcast") {
    @Override
    void issue(NcclGroup group, DemoRank rank, long bytes) {
      group.broadcast(
          rank.communicator(),
          rank.send(bytes),
          rank.recv(bytes),
          bytes / FLOAT,
          TYPE,
          ROOT,
          rank.stream());
    }

    @Override
    float expected(int rank, int ranks, int element, int elements) {
      return value(ROOT, element);
    }
  },
  SEND_RECEIVE("send/receive") {
    @Override
    void issue(NcclGroup group, DemoRank rank, long bytes) {
      int ranks = rank.communicator().ranks();
      int me = rank.communicator().rank();
      CudaBuffer send = rank.send(bytes);
      CudaBuffer recv = rank.recv(bytes);
      group.send(rank.communicator(), send, bytes / FLOAT, TYPE, (me + 1) % ranks, rank.stream());
      group.receive(
          rank.communicator(), recv, bytes / FLOAT, TYPE, (me + ranks - 1) % ranks, rank.stream());
    }

    @Override
    float expected(int rank, int ranks, int element, int elements) {
      return value((rank + ranks - 1) % ranks, element);
    }
  };

  /** Bytes of an element. */
  static final int FLOAT = Float.BYTES;

  private static final NcclDataType TYPE = NcclDataType.FLOAT32;
  private static final NcclRedOp SUM = NcclRedOp.SUM;

  /** Whose data is broadcast: not the rank that made the id. */
  private static final int ROOT = 1;

  private static final int VALUES = 251;

  private final String title;

  DemoExercise(String title) {
    this.title = title;
  }

  String title() {
    return title;
  }

  /** Writes the operation down for one rank; {@code bytes} is the larger of its two sides. */
  abstract void issue(NcclGroup group, DemoRank rank, long bytes);

  /** What a rank must have at a place of its result. */
  abstract float expected(int rank, int ranks, int element, int elements);

  int resultElements(int ranks, int elements) {
    return elements;
  }

  /** What a rank gives; small whole numbers, so that sums are exact in any order. */
  static float value(int rank, int element) {
    return (element * 31L + rank * 17L) % VALUES;
  }

  private static float sum(int ranks, int element) {
    float out = 0;
    for (int i = 0; i < ranks; i++) {
      out += value(i, element);
    }
    return out;
  }
}
