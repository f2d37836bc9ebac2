package org.metrale.gpu.nccl;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.metrale.gpu.SoftwareHost;
import org.metrale.gpu.cuda.CudaBuffer;

/** Every operation, type, reduction and place against plain Java, on 1, 2, 3 and 8 ranks. */
@Tag("emulator")
class NcclOperationsTest {
  private static final int COUNT = 5;
  private static final int BYTES = 8 * 8 * COUNT;

  /** What is tried; the last two are groups. */
  private enum What {
    ALL_REDUCE,
    REDUCE,
    REDUCE_SCATTER,
    BROADCAST,
    ALL_GATHER,
    ALL_TO_ALL,
    GATHER,
    SCATTER,
    SEND_RECEIVE;

    boolean reduces() {
      return this == ALL_REDUCE || this == REDUCE || this == REDUCE_SCATTER;
    }

    boolean canBeInPlace() {
      return this != ALL_TO_ALL && this != SEND_RECEIVE;
    }
  }

  /** One combination. */
  private record Case(What what, NcclDataType type, NcclRedOp op, boolean inPlace, int root) {}

  @BeforeAll
  static void emulator() {
    SoftwareHost.use();
  }

  @Test
  void someCasesOnThreeRanks() throws Exception {
    List<Case> all = cases(3);
    List<Case> some = new ArrayList<>();
    for (int i = 0; i < all.size(); i += 7) {
      some.add(all.get(i));
    }
    assertTrue(run(3, some) > 30);
  }

  @Tag("full")
  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 8})
  void everyCase(int ranks) throws Exception {
    int tried = run(ranks, cases(ranks));
    assertEquals(cases(ranks).size(), tried);
  }

  private static List<Case> cases(int ranks) {
    List<Case> out = new ArrayList<>();
    for (What what : What.values()) {
      for (NcclDataType type : NcclDataType.values()) {
        for (boolean inPlace : new boolean[] {false, true}) {
          for (NcclRedOp op :
              what.reduces()
                  ? List.of(
                      NcclRedOp.SUM, NcclRedOp.PROD, NcclRedOp.MAX, NcclRedOp.MIN, NcclRedOp.AVG)
                  : List.of(NcclRedOp.SUM)) {
            if (!inPlace || what.canBeInPlace()) {
              out.add(new Case(what, type, op, inPlace, (out.size() + 1) % ranks));
            }
          }
        }
      }
    }
    return out;
  }

  private static int run(int count, List<Case> cases) throws Exception {
    try (Ranks ranks = new Ranks(count, BYTES, Ranks.CONFIG)) {
      for (Case one : cases) {
        prepare(ranks, one);
        List<NcclOperation> operations = issue(ranks, one);
        for (NcclOperation operation : operations) {
          assertTrue(operation.await(Ranks.LIMIT), one.toString());
        }
        for (Ranks.Rank rank : ranks.all()) {
          check(rank, one);
        }
      }
    }
    return cases.size();
  }

  /** Whether every rank's send buffer holds a part for each rank. */
  private static boolean sendsParts(What what) {
    return what == What.REDUCE_SCATTER || what == What.ALL_TO_ALL || what == What.SCATTER;
  }

  private static boolean receivesParts(What what) {
    return what == What.ALL_GATHER || what == What.ALL_TO_ALL || what == What.GATHER;
  }

  private static void prepare(Ranks ranks, Case one) throws Exception {
    for (Ranks.Rank rank : ranks.all()) {
      int me = rank.communicator().rank();
      int elements = sendsParts(one.what) ? COUNT * ranks.all().size() : COUNT;
      byte[] data =
          Reference.elements(one.type, elements, i -> Reference.value(one.type, me, i, one.op));
      byte[] junk = new byte[BYTES];
      Arrays.fill(junk, (byte) 0x55);
      Ranks.write(rank, rank.recv().buffer(), junk);
      Ranks.write(rank, sendBuffer(rank, one), data);
    }
  }

  private static CudaBuffer sendBuffer(Ranks.Rank rank, Case one) {
    int part = COUNT * one.type.bytes();
    if (!one.inPlace) {
      return rank.send().buffer();
    }
    if (one.what == What.ALL_GATHER || one.what == What.GATHER) {
      return rank.recv().buffer((long) part * rank.communicator().rank(), part);
    }
    return rank.recv().buffer();
  }

  private static CudaBuffer recvBuffer(Ranks.Rank rank, Case one) {
    int part = COUNT * one.type.bytes();
    if (one.inPlace && (one.what == What.REDUCE_SCATTER || one.what == What.SCATTER)) {
      return rank.recv().buffer((long) part * rank.communicator().rank(), part);
    }
    return rank.recv().buffer();
  }

  private static List<NcclOperation> issue(Ranks ranks, Case one) {
    if (one.what == What.SEND_RECEIVE) {
      return NcclGroup.run(group -> ranks.all().forEach(rank -> pass(group, ranks, rank, one)));
    }
    List<NcclOperation> out = new ArrayList<>();
    for (Ranks.Rank rank : ranks.all()) {
      NcclCommunicator c = rank.communicator();
      CudaBuffer send = sendBuffer(rank, one);
      CudaBuffer recv = recvBuffer(rank, one);
      var stream = rank.stream();
      long sequence =
          switch (one.what) {
            case ALL_REDUCE -> c.allReduce(send, recv, COUNT, one.type, one.op, stream);
            case REDUCE -> c.reduce(send, recv, COUNT, one.type, one.op, one.root, stream);
            case REDUCE_SCATTER -> c.reduceScatter(send, recv, COUNT, one.type, one.op, stream);
            case BROADCAST -> c.broadcast(send, recv, COUNT, one.type, one.root, stream);
            case ALL_GATHER -> c.allGather(send, recv, COUNT, one.type, stream);
            case ALL_TO_ALL -> c.allToAll(send, recv, COUNT, one.type, stream);
            case GATHER -> c.gather(send, recv, COUNT, one.type, one.root, stream);
            case SCATTER -> c.scatter(send, recv, COUNT, one.type, one.root, stream);
            default -> throw new AssertionError();
          };
      out.add(c.operation(sequence));
    }
    return out;
  }

  /** Everybody sends to the next rank in a ring. */
  private static void pass(NcclGroup group, Ranks ranks, Ranks.Rank rank, Case one) {
    NcclCommunicator c = rank.communicator();
    int next = (c.rank() + 1) % ranks.all().size();
    int last = (c.rank() + ranks.all().size() - 1) % ranks.all().size();
    group.send(c, rank.send().buffer(), COUNT, one.type, next, rank.stream());
    group.receive(c, rank.recv().buffer(), COUNT, one.type, last, rank.stream());
  }

  private static void check(Ranks.Rank rank, Case one) throws Exception {
    NcclCommunicator c = rank.communicator();
    boolean rooted = one.what == What.REDUCE || one.what == What.GATHER;
    if (rooted && c.rank() != one.root) {
      return;
    }
    int elements = receivesParts(one.what) ? COUNT * c.ranks() : COUNT;
    byte[] expected = Reference.elements(one.type, elements, i -> expected(c, one, i));
    byte[] found = Ranks.read(rank, recvBuffer(rank, one), elements * one.type.bytes());
    if (one.what.reduces() && one.op == NcclRedOp.AVG && !Reference.isWhole(one.type)) {
      // Multiplied before, or divided after the sum: the last bits are the library's.
      assertNear(expected, found, one);
      return;
    }
    assertArrayEquals(expected, found, () -> one + " on rank " + c.rank() + " of " + c.ranks());
  }

  private static void assertNear(byte[] expected, byte[] found, Case one) {
    ByteBuffer want = ByteBuffer.wrap(expected).order(ByteOrder.nativeOrder());
    ByteBuffer have = ByteBuffer.wrap(found).order(ByteOrder.nativeOrder());
    while (want.hasRemaining()) {
      long difference =
          switch (one.type.bytes()) {
            case 1 -> want.get() - have.get();
            case 2 -> want.getShort() - have.getShort();
            case 4 -> (long) want.getInt() - have.getInt();
            default -> want.getLong() - have.getLong();
          };
      assertTrue(Math.abs(difference) <= 3, one + " differs by " + difference);
    }
  }

  private static double expected(NcclCommunicator c, Case one, int i) {
    int mine = c.rank() * COUNT + i;
    int from = i / COUNT;
    return switch (one.what) {
      case ALL_REDUCE, REDUCE -> Reference.reduce(one.type, one.op, c.ranks(), i);
      case REDUCE_SCATTER -> Reference.reduce(one.type, one.op, c.ranks(), mine);
      case BROADCAST -> Reference.value(one.type, one.root, i, one.op);
      case ALL_GATHER, GATHER -> Reference.value(one.type, from, i % COUNT, one.op);
      case ALL_TO_ALL -> Reference.value(one.type, from, c.rank() * COUNT + i % COUNT, one.op);
      case SCATTER -> Reference.value(one.type, one.root, mine, one.op);
      case SEND_RECEIVE ->
          Reference.value(one.type, (c.rank() + c.ranks() - 1) % c.ranks(), i, one.op);
    };
  }
}
