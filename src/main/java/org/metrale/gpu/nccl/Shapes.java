package org.metrale.gpu.nccl;

import org.metrale.gpu.cuda.CudaBuffer;

/** Whether buffers hold what an operation reads and writes, and do not overlap by mistake. */
final class Shapes {
  private Shapes() {}

  /** One buffer of {@code [countElements]}. */
  static void fits(CudaBuffer buffer, long countElements, NcclDataType type, String what) {
    if (countElements < 0 || countElements > buffer.lengthBytes() >>> type.shift()) {
      throw tooShort(buffer, countElements, type, what);
    }
  }

  /** Both {@code [countElements]}; the same buffer, or apart. */
  static void same(CudaBuffer send, CudaBuffer recv, long countElements, NcclDataType type) {
    fits(send, countElements, type, "send");
    fits(recv, countElements, type, "recv");
    if (send.address() != recv.address()) {
      apart(send, countElements << type.shift(), recv, countElements << type.shift());
    }
  }

  /** {@code send[countElements]}, {@code recv[ranks][countElements]}; in place in the own part. */
  static void partInRecv(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclCommunicator user) {
    fits(send, countElements, type, "send");
    fits(recv, times(countElements, user.ranks()), type, "recv");
    long part = countElements << type.shift();
    if (send.address() != recv.address() + part * user.rank()) {
      apart(send, part, recv, part * user.ranks());
    }
  }

  /** {@code send[ranks][countElements]}, {@code recv[countElements]}; in place in the own part. */
  static void partInSend(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclCommunicator user) {
    fits(send, times(countElements, user.ranks()), type, "send");
    fits(recv, countElements, type, "recv");
    long part = countElements << type.shift();
    if (recv.address() != send.address() + part * user.rank()) {
      apart(send, part * user.ranks(), recv, part);
    }
  }

  /** Both {@code [ranks][countElements]}, apart. */
  static void exchange(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclCommunicator user) {
    long all = times(countElements, user.ranks());
    fits(send, all, type, "send");
    fits(recv, all, type, "recv");
    apart(send, all << type.shift(), recv, all << type.shift());
  }

  /**
   * Where a reduction puts its result: on the root {@code recv}, elsewhere nowhere but in place.
   */
  static CudaBuffer reduced(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      NcclCommunicator user) {
    user.requireRank(root, "root");
    CudaBuffer target = root == user.rank() ? recv : send;
    same(send, target, countElements, type);
    return target;
  }

  /** What of {@code recv} a gather uses: on the root all parts, elsewhere nothing. */
  static CudaBuffer gathered(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      NcclCommunicator user) {
    user.requireRank(root, "root");
    if (root == user.rank()) {
      partInRecv(send, recv, countElements, type, user);
      return recv;
    }
    fits(send, countElements, type, "send");
    return null;
  }

  /** What of {@code send} a scatter uses: on the root all parts, elsewhere nothing. */
  static CudaBuffer scattered(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      NcclCommunicator user) {
    user.requireRank(root, "root");
    if (root == user.rank()) {
      partInSend(send, recv, countElements, type, user);
      return send;
    }
    fits(recv, countElements, type, "recv");
    return null;
  }

  private static long times(long countElements, int ranks) {
    if (countElements > Long.MAX_VALUE / ranks) {
      throw new IllegalArgumentException(
          countElements + " elements for each of " + ranks + " ranks are more than there can be");
    }
    return countElements * ranks;
  }

  private static void apart(CudaBuffer send, long sendBytes, CudaBuffer recv, long recvBytes) {
    long distance = recv.address() - send.address();
    if (sendBytes != 0 && recvBytes != 0 && distance < sendBytes && -distance < recvBytes) {
      throw new IllegalArgumentException(
          "the buffers overlap and are not in place: send " + send + ", recv " + recv);
    }
  }

  private static IllegalArgumentException tooShort(
      CudaBuffer buffer, long countElements, NcclDataType type, String what) {
    if (countElements < 0) {
      return new IllegalArgumentException("countElements " + countElements + " is negative");
    }
    return new IllegalArgumentException(
        what
            + " has "
            + buffer.lengthBytes()
            + " bytes, but "
            + countElements
            + " elements of "
            + type
            + " need "
            + Long.toUnsignedString(countElements * type.bytes()));
  }
}
