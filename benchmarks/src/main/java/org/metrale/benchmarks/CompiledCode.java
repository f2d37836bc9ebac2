package org.metrale.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What the compilers of a JVM made, from the log of {@code -XX:+PrintAssembly}. Without a
 * disassembler of its own a JVM writes bytes, and for many addresses which Java code is there.
 */
final class CompiledCode {
  private static final Pattern HEAD =
      Pattern.compile("Compiled method \\((c1|c2|n/a)\\).* (\\S+::\\S+) .*");
  private static final Pattern CODE =
      Pattern.compile(" main code +\\[0x([0-9a-f]+),0x([0-9a-f]+)\\].*");
  private static final Pattern BYTES =
      Pattern.compile(" *0x([0-9a-f]{16}): ((?:[0-9a-f]{2,4}[ |]*)+)");
  private static final Pattern NOTE = Pattern.compile(" *0x([0-9a-f]{16}): ;.*");
  private static final Pattern PLACE = Pattern.compile(" *; - (\\S+)@.*");

  private final NavigableMap<Long, Method> methods = new TreeMap<>();

  private CompiledCode() {}

  /**
   * One compiled method, or the wrapper of a native one.
   *
   * @param name {@code Class::method} without packages
   * @param isWrapper whether it is the way into C and back
   * @param begin its first address
   * @param code its bytes
   * @param places the innermost Java method by the address where its code ends
   */
  record Method(
      String name, boolean isWrapper, long begin, byte[] code, NavigableMap<Long, String> places) {
    /** The Java method that the instruction at an address is of. */
    String place(long address) {
      Map.Entry<Long, String> next = places.higherEntry(address);
      return next == null ? name : next.getValue();
    }

    /** Every instruction by its address. */
    NavigableMap<Long, String> instructions() throws IOException, InterruptedException {
      Path file = Files.createTempFile("code", ".bin");
      try {
        Files.write(file, code);
        String machine =
            System.getProperty("os.arch").equals("aarch64") ? "aarch64" : "i386:x86-64";
        Child child =
            Child.run(
                List.of(
                    "objdump",
                    "-D",
                    "-b",
                    "binary",
                    "-m",
                    machine,
                    "--adjust-vma=0x" + Long.toHexString(begin),
                    file.toString()),
                Map.of());
        NavigableMap<Long, String> out = new TreeMap<>();
        for (String line : child.lines()) {
          String[] words = line.split("\t", -1);
          if (words.length >= 3 && words[0].endsWith(":")) {
            long address = Long.parseLong(words[0].strip().replace(":", ""), 16);
            out.put(address, words[2].replaceAll("#.*", "").replaceAll("\\s+", " ").strip());
          }
        }
        return out;
      } finally {
        Files.delete(file);
      }
    }
  }

  /** Reads a log that {@code -XX:+LogVMOutput} wrote. */
  static CompiledCode read(Path log) throws IOException {
    CompiledCode all = new CompiledCode();
    Reading reading = null;
    try (BufferedReader lines = Files.newBufferedReader(log, StandardCharsets.UTF_8)) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        Matcher head = HEAD.matcher(line);
        if (head.matches()) {
          all.add(reading);
          reading = new Reading(shorten(head.group(2)), head.group(1).equals("n/a"));
        } else if (reading != null) {
          reading.take(line);
        }
      }
    }
    all.add(reading);
    return all;
  }

  /** Without packages, and the measuring loop under one name. */
  private static String shorten(String name) {
    if (name.contains(".jmh_generated.")) {
      return "the measuring loop";
    }
    return name.replace("&lt;", "<").replace("&gt;", ">").replaceAll("^.*[./](?=[^./]+::)", "");
  }

  private void add(Reading reading) {
    if (reading != null && reading.end > reading.begin) {
      methods.put(reading.begin, reading.method());
    }
  }

  /** The method whose code an address is in. */
  Optional<Method> at(long address) {
    Map.Entry<Long, Method> entry = methods.floorEntry(address);
    return Optional.ofNullable(entry)
        .map(Map.Entry::getValue)
        .filter(method -> address < method.begin() + method.code().length);
  }

  /** A method as far as it was read. */
  private static final class Reading {
    private final String name;
    private final boolean isWrapper;
    private final Map<Long, byte[]> pieces = new HashMap<>();
    private final NavigableMap<Long, String> places = new TreeMap<>();
    private long begin;
    private long end;
    private long noted;

    Reading(String name, boolean isWrapper) {
      this.name = name;
      this.isWrapper = isWrapper;
    }

    void take(String line) {
      Matcher code = CODE.matcher(line);
      Matcher bytes = BYTES.matcher(line);
      Matcher note = NOTE.matcher(line);
      Matcher place = PLACE.matcher(line);
      if (code.matches()) {
        begin = Long.parseLong(code.group(1), 16);
        end = Long.parseLong(code.group(2), 16);
      } else if (bytes.matches()) {
        String digits = bytes.group(2).replaceAll("[ |]", "");
        pieces.put(Long.parseLong(bytes.group(1), 16), HexFormat.of().parseHex(digits));
      } else if (note.matches()) {
        noted = Long.parseLong(note.group(1), 16);
      } else if (place.matches() && noted != 0) {
        // The first line of several is the innermost method.
        places.put(noted, shorten(place.group(1)));
        noted = 0;
      }
    }

    Method method() {
      byte[] all = new byte[(int) (end - begin)];
      Arrays.fill(all, (byte) 0x90);
      List<Long> starts = new ArrayList<>(pieces.keySet());
      for (long start : starts) {
        byte[] piece = pieces.get(start);
        for (int i = 0; i < piece.length; i++) {
          long at = start - begin + i;
          if (at >= 0 && at < all.length) {
            all[(int) at] = piece[i];
          }
        }
      }
      return new Method(name, isWrapper, begin, all, places);
    }
  }
}
