package org.metrale.examples;

import static org.bytedeco.pytorch.global.torch.manual_seed;
import static org.bytedeco.pytorch.global.torch.mse_loss;
import static org.bytedeco.pytorch.global.torch.randn;
import static org.bytedeco.pytorch.global.torch.set_num_threads;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.bytedeco.cuda.cudart.CUstream_st;
import org.bytedeco.javacpp.FloatPointer;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cuda.CudaContext;
import org.metrale.gpu.cuda.CudaDriver;
import org.metrale.gpu.cuda.CudaStream;
import org.metrale.gpu.cuda.DeviceMemory;
import org.metrale.gpu.cuda.HostMemory;
import org.metrale.gpu.nccl.NcclCommunicator;
import org.metrale.gpu.nccl.NcclConfig;
import org.metrale.gpu.nccl.NcclDataType;
import org.metrale.gpu.nccl.NcclRedOp;

/**
 * Trains a small network with PyTorch's JavaCPP build twice: in one go over the whole batch, and on
 * several ranks that each see a part of it and average their gradients by NCCL. The losses of both
 * must fall alike.
 *
 * <p>PyTorch computes on the CPU here. Gradients go through pinned memory to a device, are averaged
 * there, and come back the same way: pageable memory is no place for a collective. The stream is
 * handed over as bytedeco's own type, as a stack with GPU kernels would do.
 *
 * <p>Takes GPUs, or the software GPU host if {@code org.metrale.library.path} names it. One rank a
 * device, four at most. Ends with 0 if the losses agree, 1 if not, 2 if there is no device.
 */
public final class DataParallel {
  private static final int MOST_RANKS = 4;
  private static final int SAMPLES = 64;
  private static final int INPUTS = 8;
  private static final int HIDDEN = 16;
  private static final int STEPS = 40;
  private static final float RATE = 0.1f;

  /** Sums of floats in another order differ in their last digits; over the steps that adds up. */
  private static final double TOLERANCE = 1e-3;

  private static final Duration LIMIT = Duration.ofSeconds(60);

  private DataParallel() {}

  /**
   * Runs both trainings.
   *
   * @param arguments none
   * @throws Exception if a rank fails
   */
  public static void main(String[] arguments) throws Exception {
    if (!NativeLibrary.CUDA.isAvailable() || CudaDriver.deviceCount() == 0) {
      System.err.println("no CUDA device: " + NativeLibrary.CUDA.attempts());
      System.exit(2);
    }
    int ranks = Math.min(MOST_RANKS, CudaDriver.deviceCount());
    String level = NativeLibrary.CUDA.isEmulated() ? " (EMULATED)" : "";
    System.out.println(
        "javacpp " + NativeLibrary.javacppVersion() + ", " + ranks + " ranks" + level);
    set_num_threads(1);
    List<Double> alone = alone();
    List<Double> together = together(ranks);
    boolean alike = true;
    for (int step = 0; step < STEPS; step++) {
      double difference = Math.abs(alone.get(step) - together.get(step));
      alike &= difference <= TOLERANCE * Math.abs(alone.get(step));
      if (step % 5 == 0 || step == STEPS - 1) {
        System.out.printf(
            "step %2d: alone %.6f, together %.6f%n", step, alone.get(step), together.get(step));
      }
    }
    boolean falls = together.get(STEPS - 1) < together.get(0) / 4;
    System.out.println("losses agree: " + alike + ", loss falls: " + falls + level);
    System.exit(alike && falls ? 0 : 1);
  }

  /** The network and its part of the samples; every one starts with the same numbers. */
  private static final class Model {
    private final Tensor inputs;
    private final Tensor targets;
    private final List<Tensor> weights;

    Model(int part, int parts) {
      manual_seed(7);
      Tensor first = randn(INPUTS, HIDDEN).mul_(new Scalar(0.5f));
      Tensor second = randn(HIDDEN, 1).mul_(new Scalar(0.5f));
      weights = List.of(first.requires_grad_(true), second.requires_grad_(true));
      Tensor all = randn(SAMPLES, INPUTS);
      Tensor wanted = all.narrow(1, 0, 1).add(all.narrow(1, 1, 1).tanh());
      int length = SAMPLES / parts;
      inputs = all.narrow(0, (long) part * length, length).contiguous();
      targets = wanted.narrow(0, (long) part * length, length).contiguous();
    }

    /** One pass forward and back; gradients are in the weights afterwards. */
    double backward() {
      for (Tensor weight : weights) {
        if (weight.grad().defined()) {
          weight.mutable_grad().zero_();
        }
      }
      Tensor loss = mse_loss(inputs.mm(weights.get(0)).tanh().mm(weights.get(1)), targets);
      loss.backward();
      return loss.item_float();
    }

    void step() {
      for (Tensor weight : weights) {
        weight.data().sub_(weight.grad().mul(new Scalar(RATE)));
      }
    }

    long gradientBytes() {
      return weights.stream().mapToLong(weight -> weight.numel() * Float.BYTES).sum();
    }

    /** Copies the gradients to a place in memory, one after the other, or from there. */
    void copyGradients(Pointer place, boolean back) {
      long at = 0;
      for (Tensor weight : weights) {
        FloatPointer gradient = weight.grad().data_ptr_float();
        long bytes = weight.numel() * Float.BYTES;
        Pointer part = place.getPointer(at);
        Pointer.memcpy(back ? gradient : part, back ? part : gradient, bytes);
        at += bytes;
      }
    }
  }

  private static List<Double> alone() {
    List<Double> losses = new ArrayList<>();
    try (PointerScope ignored = new PointerScope()) {
      Model model = new Model(0, 1);
      for (int step = 0; step < STEPS; step++) {
        losses.add(model.backward());
        model.step();
      }
    }
    return losses;
  }

  private static List<Double> together(int ranks) throws Exception {
    // One after the other: the generator of the numbers belongs to the process.
    List<Model> models = new ArrayList<>();
    for (int rank = 0; rank < ranks; rank++) {
      models.add(new Model(rank, ranks));
    }
    List<AutoCloseable> opened = new ArrayList<>();
    ExecutorService threads = Executors.newFixedThreadPool(ranks);
    try {
      List<CudaContext> contexts = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        contexts.add(CudaContext.openPrimary(rank));
        opened.add(contexts.get(rank));
      }
      NcclConfig config = NcclConfig.builder().initTimeout(LIMIT).operationTimeout(LIMIT).build();
      List<NcclCommunicator> communicators = NcclCommunicator.joinLocal(contexts, config);
      List<Future<List<Double>>> running = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        Model model = models.get(rank);
        CudaContext context = contexts.get(rank);
        NcclCommunicator communicator = communicators.get(rank);
        running.add(threads.submit(() -> train(model, context, communicator)));
      }
      List<Double> losses = new ArrayList<>();
      for (int rank = 0; rank < ranks; rank++) {
        List<Double> mine = running.get(rank).get(LIMIT.toSeconds(), TimeUnit.SECONDS);
        for (int step = 0; step < STEPS; step++) {
          double before = rank == 0 ? 0 : losses.remove(step);
          losses.add(step, before + mine.get(step) / ranks);
        }
      }
      return losses;
    } finally {
      threads.shutdownNow();
      for (int i = opened.size() - 1; i >= 0; i--) {
        opened.get(i).close();
      }
    }
  }

  private static List<Double> train(Model model, CudaContext context, NcclCommunicator communicator)
      throws Exception {
    long bytes = model.gradientBytes();
    List<Double> losses = new ArrayList<>();
    try (communicator;
        CudaStream own = CudaStream.create(context);
        HostMemory pinned = HostMemory.allocate(context, bytes);
        DeviceMemory device = DeviceMemory.allocate(context, bytes)) {
      // What a stack with kernels of its own would hand over.
      CUstream_st theirs = own.pointer();
      try (CudaStream stream = CudaStream.borrow(context, theirs)) {
        for (int step = 0; step < STEPS; step++) {
          losses.add(model.backward());
          model.copyGradients(pinned.pointer(), false);
          stream.copy(pinned.buffer(), device.buffer());
          communicator.allReduce(
              device.buffer(),
              device.buffer(),
              bytes / Float.BYTES,
              NcclDataType.FLOAT32,
              NcclRedOp.AVG,
              stream);
          stream
              .copy(device.buffer(), pinned.buffer())
              .toCompletableFuture()
              .get(LIMIT.toSeconds(), TimeUnit.SECONDS);
          model.copyGradients(pinned.pointer(), true);
          model.step();
        }
        if (!stream.synchronize(LIMIT)) {
          throw new IllegalStateException("the stream did not end in time");
        }
      }
    }
    return losses;
  }
}
