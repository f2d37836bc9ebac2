package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

final class JniWarningsTest {
  private static final String FORGOTTEN =
      "WARNING in native method: JNI call made without checking exceptions when required to from"
          + " CallVoidMethodV";

  @Test
  void keepsWhatIsGivenInAGeneratedMethod() {
    String warning =
        FORGOTTEN
            + "\n\tat org.metrale.global.nccl.ncclGetVersion(Native Method)"
            + "\n\tat org.metrale.gpu.LoaderProbe.main(LoaderProbe.java:1)";
    assertEquals(List.of(warning), JniWarnings.in("<tty>\n" + warning + "\n</tty>\n"));
  }

  @Test
  void keepsWhatIsGivenInAConstructorOfAModule() {
    String log =
        FORGOTTEN
            + "\n\tat org.metrale.gpu/org.metrale.nccl.ncclConfig_t.&lt;init&gt;(Native Method)\n";
    assertEquals(1, JniWarnings.in(log).size());
  }

  @Test
  void keepsWhatIsGivenWhileOurGlueIsLoaded() {
    String warning =
        "WARNING: JNI local refs: 33, exceeds capacity: 32"
            + "\n\tat jdk.internal.loader.NativeLibraries.load(java.base@17/Native Method)"
            + "\n\tat java.lang.System.load(java.base@17/System.java:1)"
            + "\n\tat org.bytedeco.javacpp.Loader.loadLibrary(Loader.java:1)"
            + "\n\tat org.metrale.global.nccl.<clinit>(nccl.java:1)";
    assertEquals(List.of(warning), JniWarnings.in(warning + "\n"));
  }

  @Test
  void leavesOutTheJdkAndJavaCpp() {
    String under = "\n\tat org.metrale.gpu.SomeTest.test(SomeTest.java:1)\n";
    String jdk = FORGOTTEN + "\n\tat sun.nio.ch.Net.poll(java.base@17/Native Method)" + under;
    String javacpp =
        FORGOTTEN + "\n\tat org.bytedeco.javacpp.BytePointer.allocateArray(Native Method)" + under;
    String loading =
        FORGOTTEN
            + "\n\tat jdk.internal.loader.NativeLibraries.load(java.base@17/Native Method)"
            + "\n\tat org.bytedeco.javacpp.Loader.loadLibrary(Loader.java:1)"
            + "\n\tat org.bytedeco.javacpp.BytePointer.<clinit>(BytePointer.java:1)\n";
    assertEquals(List.of(), JniWarnings.in(jdk + javacpp + loading));
  }

  @Test
  void keepsEachOfSeveral() {
    String one = FORGOTTEN + "\n\tat org.metrale.global.nvml.nvmlInit_v2(Native Method)\n";
    String fatal =
        "FATAL ERROR in native method: Wrong object class\n"
            + "\tat org.metrale.global.cuda.cuInit(X)\n";
    assertEquals(3, JniWarnings.in(one + one + fatal).size());
  }

  @Test
  void knowsWhatIsListed() throws Exception {
    List<Pattern> listed = JniWarnings.listed();
    String method = "\n\tat org.metrale.global.verbs.metrale_ibv_get_device_list(Native Method)";
    String known = FORGOTTEN.replace("CallVoidMethodV", "CallObjectMethodV") + method;
    assertTrue(listed.stream().anyMatch(one -> one.matcher(known).find()));
    assertTrue(listed.stream().noneMatch(one -> one.matcher(FORGOTTEN + method).find()));
  }
}
