package org.metrale.tools;

import java.io.PrintWriter;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cuda.CudaDriver;
import org.metrale.gpu.nccl.NcclLibrary;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/**
 * Says how many GPUs and RDMA devices a process like this one would find.
 *
 * <p>In a process of its own because a library that is open is not exchanged: the one that asks can
 * still start the software GPU host afterwards.
 */
@Command(name = "demo-probe", hidden = true, description = "Used by demo.")
final class DemoProbeCommand implements Runnable {
  /** What the answer's line begins with. */
  static final String ANSWER = "metrale-probe ";

  /** What the line about RDMA devices begins with. */
  static final String RDMA_ANSWER = "metrale-rdma-probe ";

  @Spec private CommandSpec spec;

  /** For the parser of arguments. */
  DemoProbeCommand() {}

  @Override
  public void run() {
    PrintWriter out = spec.commandLine().getOut();
    out.println(ANSWER + answer());
    out.println(RDMA_ANSWER + rdmaAnswer());
    out.flush();
  }

  private static String answer() {
    try {
      NcclLibrary.require();
      int devices = CudaDriver.deviceCount();
      return devices + " " + NativeLibrary.CUDA.isEmulated();
    } catch (GpuException e) {
      return "0 false " + Messages.brief(e);
    }
  }

  private static String rdmaAnswer() {
    try {
      int devices = RailOptions.found().size();
      return devices + " " + NativeLibrary.IBVERBS.isEmulated();
    } catch (GpuException | ToolException e) {
      return "0 false " + Messages.brief(e);
    }
  }
}
