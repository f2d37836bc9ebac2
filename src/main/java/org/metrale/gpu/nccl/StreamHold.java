package org.metrale.gpu.nccl;

import com.google.errorprone.annotations.MustBeClosed;
import java.util.stream.Stream;
import org.metrale.gpu.NativeResource;
import org.metrale.gpu.cuda.CudaStream;

/** Keeps streams open while NCCL starts on them what it took. */
final class StreamHold extends NativeResource {
  private StreamHold(NativeResource... streams) {
    super(streams);
  }

  /**
   * Keeps streams open.
   *
   * @throws IllegalStateException if one is closed
   */
  @MustBeClosed
  static StreamHold of(Stream<CudaStream> streams) {
    return new StreamHold(streams.distinct().toArray(NativeResource[]::new));
  }

  @Override
  protected void free() {
    // What it needs is let go by close().
  }

  @Override
  public String toString() {
    return "a start of NCCL's work";
  }
}
