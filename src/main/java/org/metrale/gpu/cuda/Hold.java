package org.metrale.gpu.cuda;

import org.metrale.gpu.NativeResource;

/** Keeps memory open while a device works on it. */
final class Hold extends NativeResource {
  private Hold(NativeResource[] needs) {
    super(needs);
  }

  static Hold of(CudaBuffer... buffers) {
    int count = 0;
    for (CudaBuffer buffer : buffers) {
      count += buffer.owners().length;
    }
    NativeResource[] needs = new NativeResource[count];
    for (CudaBuffer buffer : buffers) {
      for (NativeResource owner : buffer.owners()) {
        needs[--count] = owner;
      }
    }
    return new Hold(needs);
  }

  @Override
  protected void free() {
    // What it needs is let go by close().
  }

  @Override
  public String toString() {
    return "a copy in flight";
  }
}
