package org.metrale.gpu;

/** Says in words a user can act on why our own JNI glue did not load. */
final class GlueProblem {
  /** The versions of JavaCPP that COMPATIBILITY.md has rows for. */
  private static final String KNOWN_JAVACPP = "1\\.5\\.1[0-4]";

  private GlueProblem() {}

  static String explain(String title, LinkageError problem) {
    return explain(title, problem, NativeLibrary.javacppVersion());
  }

  static String explain(String title, LinkageError problem, String javacppVersion) {
    String text = allMessages(problem);
    String platform = System.getProperty("os.arch");
    StringBuilder out = new StringBuilder("the JNI glue for ");
    out.append(title).append(" could not be loaded: ").append(text);
    if (text.contains("GLIBC_")) {
      out.append(
          "\n"
              + "this system's C library is too old for the JavaCPP on the class path: JavaCPP"
              + " 1.5.12 and later need glibc 2.34, with glibc 2.28 to 2.33 use JavaCPP 1.5.10 or"
              + " 1.5.11");
    } else if (text.contains("failed to map segment")
        || text.contains("Permission denied")
        || text.contains("java.io.")) {
      out.append(
          "\nthe folder that libraries are unpacked into does not allow execution or writing: set"
              + " -Dorg.bytedeco.javacpp.cachedir=FOLDER to one that does");
    } else if (text.contains("no jnijavacpp")) {
      out.append("\nthe jar of javacpp with the classifier linux-")
          .append("aarch64".equals(platform) ? "arm64" : "x86_64")
          .append(", of the same version as the one without, is not on the class path");
    } else if (text.contains("no jnimetrale") || text.contains("Could not find")) {
      out.append("\nthe jar with the classifier linux-")
          .append("aarch64".equals(platform) ? "arm64" : "x86_64")
          .append("-cuda is not on the class path, or this platform (")
          .append(platform)
          .append(") has none");
    }
    if (!javacppVersion.matches(KNOWN_JAVACPP)) {
      out.append("\nJavaCPP ")
          .append(javacppVersion)
          .append(" is on the class path; 1.5.10 to 1.5.14 are known to work");
    }
    return out.toString();
  }

  /** JavaCPP's own search ends in "not found", and its cause says what really happened. */
  private static String allMessages(Throwable problem) {
    StringBuilder out = new StringBuilder(String.valueOf(problem.getMessage()));
    for (Throwable cause = problem.getCause(); cause != null; cause = cause.getCause()) {
      String text =
          cause instanceof LinkageError ? String.valueOf(cause.getMessage()) : cause.toString();
      if (out.indexOf(text) < 0) {
        out.append("\nbecause: ").append(text);
      }
    }
    return out.toString();
  }
}
