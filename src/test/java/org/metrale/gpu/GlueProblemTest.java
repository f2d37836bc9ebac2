package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class GlueProblemTest {
  @Test
  void namesTheVersionsOfJavacppThatAnOldSystemNeeds() {
    String text = explain("libjnijavacpp.so: version `GLIBC_2.34' not found", null);
    assertTrue(text.contains("1.5.10 or 1.5.11"), text);
  }

  @Test
  void namesTheFolderSettingWhereTheCauseIsThatNothingMayBeExecuted() {
    String text =
        explain(
            "no jnimetralenccl in java.library.path",
            new UnsatisfiedLinkError("libx.so: failed to map segment from shared object"));
    assertTrue(text.contains("failed to map segment"), text);
    assertTrue(text.contains("-Dorg.bytedeco.javacpp.cachedir"), text);
    assertEquals(-1, text.indexOf("is not on the class path"), text);
  }

  @Test
  void namesTheJarThatIsNotThere() {
    String text = explain("no jnimetralenccl in java.library.path", null);
    assertTrue(text.contains("-cuda is not on the class path"), text);
  }

  @Test
  void saysACauseOnceEvenIfItIsWrapped() {
    java.io.IOException cause = new java.io.IOException("Read-only file system");
    String text = explain(cause.toString(), cause);
    assertEquals(text.indexOf("Read-only"), text.lastIndexOf("Read-only"), text);
  }

  @Test
  void namesTheVersionsOfJavacppThatAreKnownToWork() {
    LinkageError problem = new NoSuchMethodError("Loader.something");
    String text = GlueProblem.explain("NCCL", problem, "1.5.8");
    assertTrue(text.contains("JavaCPP 1.5.8"), text);
    assertTrue(text.contains("1.5.10 to 1.5.14"), text);
    for (String known : new String[] {"1.5.10", "1.5.14"}) {
      assertEquals(-1, GlueProblem.explain("NCCL", problem, known).indexOf("known to work"));
    }
  }

  @Test
  void namesTheJarWithJavacppsOwnBinaries() {
    String text = explain("no jnijavacpp in java.library.path", null);
    assertTrue(text.contains("jar of javacpp with the classifier linux-"), text);
  }

  private static String explain(String message, Throwable cause) {
    LinkageError problem = new UnsatisfiedLinkError(message);
    problem.initCause(cause);
    return GlueProblem.explain("NCCL", problem);
  }
}
