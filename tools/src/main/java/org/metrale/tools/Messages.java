package org.metrale.tools;

/** Messages of exceptions in one line; the doctor tells the rest. */
final class Messages {
  private static final String LIST_FOLLOWS = "; tried";

  private Messages() {}

  static String brief(Throwable failure) {
    return failure.getMessage() == null ? failure.toString() : brief(failure.getMessage());
  }

  /** The first line, without the announcement of a list. */
  static String brief(String message) {
    String first = message.lines().findFirst().orElse("");
    return first.endsWith(LIST_FOLLOWS)
        ? first.substring(0, first.length() - LIST_FOLLOWS.length())
        : first;
  }
}
