package org.metrale.tools;

/** A command cannot do what it was asked for; the message is for the user. */
final class ToolException extends Exception {
  private static final long serialVersionUID = 1L;

  ToolException(String message) {
    super(message);
  }

  ToolException(String message, Throwable cause) {
    super(message, cause);
  }
}
