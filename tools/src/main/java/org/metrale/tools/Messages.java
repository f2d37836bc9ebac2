package org.metrale.tools;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;

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

  /** What a file system said; some of its exceptions have nothing but the file in their message. */
  static String io(IOException failure) {
    if (failure instanceof NoSuchFileException) {
      return "there is no such file or folder";
    }
    if (failure instanceof AccessDeniedException) {
      return "permission denied";
    }
    if (failure instanceof FileAlreadyExistsException) {
      return "it exists already";
    }
    if (failure instanceof CharacterCodingException) {
      return "it is no text";
    }
    if (failure instanceof FileSystemException known && known.getReason() != null) {
      return known.getReason();
    }
    return brief(failure);
  }

  /** A peer's text without what could pass for a line of ours. */
  static String printable(String text) {
    StringBuilder out = new StringBuilder();
    text.codePoints()
        .limit(200)
        .forEach(c -> out.appendCodePoint(Character.isISOControl(c) ? '?' : c));
    return out.toString();
  }
}
