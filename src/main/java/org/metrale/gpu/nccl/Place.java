package org.metrale.gpu.nccl;

import org.metrale.gpu.cuda.CudaBuffer;
import org.metrale.gpu.cuda.CudaLocation;

/** Whether NCCL may use a buffer where it lies. */
final class Place {
  private Place() {}

  static CudaLocation require(RankState state, CudaBuffer buffer) {
    CudaLocation place = buffer.location(state.context);
    if (!place.isReachableByDevices()) {
      throw new IllegalArgumentException(
          buffer
              + " is pageable host memory, which NCCL cannot use: copy it to device memory, or pin"
              + " it with HostMemory");
    }
    int mine = state.context.device().cudaOrdinal();
    if (place.kind() == CudaLocation.Kind.DEVICE && place.cudaOrdinal() != mine) {
      throw new IllegalArgumentException(
          buffer
              + " lies on CUDA device "
              + place.cudaOrdinal()
              + ", but "
              + state
              + " is on device "
              + mine);
    }
    return place;
  }
}
