package org.metrale.gpu;

import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.LifecycleMethodExecutionExceptionHandler;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.opentest4j.TestAbortedException;

/**
 * Makes a skip a failure where {@code -Dmetrale.require} names a tag of the test: a run that claims
 * something must not pass because that was not there. JUnit finds this class by itself.
 */
public final class RequiredTags
    implements TestExecutionExceptionHandler, LifecycleMethodExecutionExceptionHandler {
  /** Made by JUnit. */
  public RequiredTags() {}

  @Override
  public void handleTestExecutionException(ExtensionContext context, Throwable thrown)
      throws Throwable {
    throw judged(context, thrown);
  }

  @Override
  public void handleBeforeEachMethodExecutionException(ExtensionContext context, Throwable thrown)
      throws Throwable {
    throw judged(context, thrown);
  }

  @Override
  public void handleBeforeAllMethodExecutionException(ExtensionContext context, Throwable thrown)
      throws Throwable {
    throw judged(context, thrown);
  }

  private static Throwable judged(ExtensionContext context, Throwable thrown) {
    Set<String> required =
        new TreeSet<>(List.of(System.getProperty("metrale.require", "").split(",", -1)));
    required.retainAll(context.getTags());
    return thrown instanceof TestAbortedException && !required.isEmpty()
        ? new AssertionError("skipped, but " + required + " is required", thrown)
        : thrown;
  }
}
