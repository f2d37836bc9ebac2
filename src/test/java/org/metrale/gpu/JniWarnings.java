package org.metrale.gpu;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * What the JVM's own checks of JNI say of native code that is ours or generated.
 *
 * <p>The JVM writes into a log of its own, since its words would stand in the middle of what the
 * program says. A warning counts if the native method that it was given in belongs to this project,
 * or if it was given while one of our libraries was loaded; others are about the JDK or JavaCPP.
 */
public final class JniWarnings {
  /** Two forms: a report, and the count of local references. A stack trace follows. */
  private static final Pattern WARNING =
      Pattern.compile(
          "^(?:(?:WARNING|FATAL ERROR) in native method|WARNING: JNI)[^\n]*(?:\n\\s+at [^\n]*)*",
          Pattern.MULTILINE);

  private static final Pattern FRAME = Pattern.compile("\n\\s+at ([^\n]*)");

  private static final String LISTED = "jni-warnings.txt";

  private JniWarnings() {}

  /** The JVM's options that make it check, into a log in a folder. */
  public static List<String> options(Path folder) {
    return List.of(
        "-Xcheck:jni",
        "-XX:+UnlockDiagnosticVMOptions",
        "-XX:+LogVMOutput",
        "-XX:-DisplayVMOutput",
        "-XX:LogFile=" + folder.resolve("%t-%p.log"));
  }

  /** The same, into the folder that the build looks at when all tests are over. */
  public static List<String> options() throws IOException {
    String base = System.getProperty("metrale.basedir", "");
    String folder = System.getProperty("metrale.vmlogs", Path.of(base, "target", "vm").toString());
    return options(Files.createDirectories(Path.of(folder).toAbsolutePath()));
  }

  /** The warnings in a log that are about our or generated code. */
  static List<String> in(String log) {
    String text =
        log.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
    List<String> out = new ArrayList<>();
    Matcher warnings = WARNING.matcher(text);
    while (warnings.find()) {
      if (isOurs(FRAME.matcher(warnings.group()).results().map(one -> one.group(1)).toList())) {
        out.add(warnings.group());
      }
    }
    return out;
  }

  private static boolean isOurs(List<String> frames) {
    if (frames.isEmpty()) {
      // From a thread without Java frames: nobody else's code has such here.
      return true;
    }
    if (withoutModule(frames.get(0)).matches(".*NativeLibrar(y|ies)[.$].*|.*ClassLoader\\$.*")) {
      return frames.stream()
          .map(JniWarnings::withoutModule)
          .filter(frame -> !frame.startsWith("java.") && !frame.startsWith("jdk."))
          .filter(frame -> !frame.startsWith("org.bytedeco.javacpp."))
          .findFirst()
          .filter(frame -> frame.startsWith("org.metrale."))
          .isPresent();
    }
    return withoutModule(frames.get(0)).startsWith("org.metrale.");
  }

  private static String withoutModule(String frame) {
    return frame.substring(frame.lastIndexOf('/', Math.max(0, frame.indexOf('('))) + 1);
  }

  /** What is known and harmless: each line a pattern, a bar and the reason. */
  static List<Pattern> listed() throws IOException {
    List<Pattern> out = new ArrayList<>();
    try (InputStream in = JniWarnings.class.getResourceAsStream(LISTED)) {
      for (String line : new String(in.readAllBytes(), StandardCharsets.UTF_8).split("\n", -1)) {
        String[] parts = line.split(" \\| ", 2);
        if (!line.isBlank() && !line.startsWith("#")) {
          if (parts.length < 2 || parts[1].isBlank()) {
            throw new IllegalStateException("no reason in " + LISTED + ": " + line);
          }
          out.add(Pattern.compile(parts[0]));
        }
      }
    }
    return out;
  }

  /**
   * Prints each warning in the logs of some folders once; ends with 1 if there are any, or no log.
   */
  public static void main(String[] folders) throws IOException {
    List<Pattern> listed = listed();
    int logs = 0;
    Map<String, Path> first = new TreeMap<>();
    for (String folder : folders) {
      try (Stream<Path> files = Files.walk(Path.of(folder))) {
        for (Path file : files.filter(one -> one.toString().endsWith(".log")).toList()) {
          logs++;
          for (String warning : in(Files.readString(file, StandardCharsets.ISO_8859_1))) {
            if (listed.stream().noneMatch(one -> one.matcher(warning).find())) {
              first.putIfAbsent(warning, file);
            }
          }
        }
      }
    }
    first.forEach((warning, file) -> System.out.println(file + ":\n" + warning));
    System.out.println(
        "-Xcheck:jni: " + first.size() + " warnings about our code in " + logs + " JVMs");
    if (!first.isEmpty() || logs == 0) {
      System.exit(1);
    }
  }
}
