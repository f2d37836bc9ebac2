package consumer;

import org.metrale.global.nccl;
import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.NativeLibrary;
import org.metrale.nccl.ncclConfig_t;

/** What a user would write first. */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) {
    System.out.println("magic " + Integer.toHexString(new ncclConfig_t().magic()));
    try {
      int[] version = new int[1];
      System.out.println("code " + nccl.ncclGetVersion(version) + " version " + version[0]);
    } catch (LibraryUnavailableException e) {
      System.out.println("unavailable " + e.library() + " " + e.function());
    }
    NativeLibrary.all().forEach(library -> System.out.println(library + " " + library.isAvailable()));
  }
}
