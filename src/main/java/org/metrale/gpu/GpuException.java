package org.metrale.gpu;

/**
 * Something outside the caller's program failed: a library, a driver, a device.
 *
 * <p>Mistakes of the caller are the JDK's own exceptions ({@link IllegalArgumentException}, {@link
 * IllegalStateException}, {@link NullPointerException}); what a remote peer can cause is an {@link
 * java.io.IOException}.
 */
public abstract class GpuException extends RuntimeException {
  private static final long serialVersionUID = 1L;

  /**
   * Makes an exception with a message.
   *
   * @param message what was expected, what was found, what to do
   */
  protected GpuException(String message) {
    super(message);
  }

  /**
   * Makes an exception with a message and a cause.
   *
   * @param message what was expected, what was found, what to do
   * @param cause what led to it, or null
   */
  protected GpuException(String message, Throwable cause) {
    super(message, cause);
  }
}
