package org.metrale.gpu.nccl;

import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaStream;

/** Checks the arguments of collectives and issues them. */
final class Collectives implements NcclCollectives {
  private final NcclCommunicator user;
  private final Issuing issuing;

  /** The settings of each call, or null. */
  private final NcclCallConfig config;

  Collectives(NcclCommunicator user, Issuing issuing, NcclCallConfig config) {
    this.user = user;
    this.issuing = issuing;
    this.config = config;
  }

  @Override
  public long allReduce(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclRedOp op,
      CudaStream stream) {
    Shapes.same(send, recv, countElements, type);
    op.requireUsableBy(user);
    return issue(
        NcclOperationKind.ALL_REDUCE, send, recv, countElements, type, op.code(), 0, stream);
  }

  @Override
  public long broadcast(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      CudaStream stream) {
    user.requireRank(root, "root");
    Shapes.same(send, recv, countElements, type);
    return issue(NcclOperationKind.BROADCAST, send, recv, countElements, type, 0, root, stream);
  }

  @Override
  public long reduce(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclRedOp op,
      int root,
      CudaStream stream) {
    op.requireUsableBy(user);
    CudaBuffer target = Shapes.reduced(send, recv, countElements, type, root, user);
    return issue(
        NcclOperationKind.REDUCE, send, target, countElements, type, op.code(), root, stream);
  }

  @Override
  public long allGather(
      CudaBuffer send, CudaBuffer recv, long countElements, NcclDataType type, CudaStream stream) {
    Shapes.partInRecv(send, recv, countElements, type, user);
    return issue(NcclOperationKind.ALL_GATHER, send, recv, countElements, type, 0, 0, stream);
  }

  @Override
  public long reduceScatter(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      NcclRedOp op,
      CudaStream stream) {
    Shapes.partInSend(send, recv, countElements, type, user);
    op.requireUsableBy(user);
    return issue(
        NcclOperationKind.REDUCE_SCATTER, send, recv, countElements, type, op.code(), 0, stream);
  }

  @Override
  public long allToAll(
      CudaBuffer send, CudaBuffer recv, long countElements, NcclDataType type, CudaStream stream) {
    Shapes.exchange(send, recv, countElements, type, user);
    return issue(NcclOperationKind.ALL_TO_ALL, send, recv, countElements, type, 0, 0, stream);
  }

  @Override
  public long gather(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      CudaStream stream) {
    CudaBuffer target = Shapes.gathered(send, recv, countElements, type, root, user);
    return issue(NcclOperationKind.GATHER, send, target, countElements, type, 0, root, stream);
  }

  @Override
  public long scatter(
      CudaBuffer send,
      CudaBuffer recv,
      long countElements,
      NcclDataType type,
      int root,
      CudaStream stream) {
    CudaBuffer source = Shapes.scattered(send, recv, countElements, type, root, user);
    return issue(NcclOperationKind.SCATTER, source, recv, countElements, type, 0, root, stream);
  }

  private long issue(
      NcclOperationKind kind,
      CudaBuffer send,
      CudaBuffer recv,
      long count,
      NcclDataType type,
      int op,
      int peer,
      CudaStream stream) {
    return config == null
        ? issuing.submit(kind, send, recv, count, type, op, peer, stream)
        : issuing.submitConfigured(kind, send, recv, count, type, op, peer, stream, config);
  }

  @Override
  public String toString() {
    return config == null ? user.toString() : user + " with " + config;
  }
}
