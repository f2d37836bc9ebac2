package org.metrale.gpu.hardware;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.metrale.gpu.JsonText;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.cuda.CudaDevice;
import org.metrale.gpu.cuda.CudaDriver;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;

/**
 * Puts together what the hardware kit's steps left in a folder, as {@code report.json} and {@code
 * report.txt}. Ends with 1 if a test failed or none ran.
 */
public final class HardwareReport {
  private HardwareReport() {}

  /** Takes the folder. */
  public static void main(String[] arguments) throws Exception {
    Path folder = Path.of(arguments[0]);
    List<Map<String, String>> tests = tests(folder.resolve("tests"));
    long passed = tests.stream().filter(test -> test.get("result").equals("passed")).count();
    long failed = tests.stream().filter(test -> test.get("result").equals("failed")).count();
    long skipped = tests.size() - passed - failed;
    String counts = passed + " passed, " + failed + " failed, " + skipped + " skipped";
    Map<String, String> machine = machine();
    String doctor = text(folder.resolve("doctor.json"), "null");
    List<Map<String, String>> benchmarks = benchmarks(folder.resolve("benchmarks.rows"));
    Files.writeString(
        folder.resolve("report.json"),
        "{\n\"machine\": "
            + object(machine)
            + ",\n\"counts\": "
            + JsonText.quoted(counts)
            + ",\n\"tests\": ["
            + String.join(",\n", tests.stream().map(HardwareReport::object).toList())
            + "],\n\"benchmarks\": ["
            + String.join(",\n", benchmarks.stream().map(HardwareReport::object).toList())
            + "],\n\"doctor\": "
            + doctor.strip()
            + "\n}\n");
    StringBuilder out = new StringBuilder("metrale-gpu hardware report\n\n");
    machine.forEach((key, value) -> out.append(String.format("%-10s %s%n", key, value)));
    out.append("\ntests: ").append(counts).append('\n');
    if (tests.isEmpty()) {
      out.append("NO TEST RAN: this kit has none that is tagged gpu\n");
    } else if (passed == 0) {
      out.append("NOTHING WAS SHOWN: no test passed\n");
    }
    for (Map<String, String> test : tests) {
      out.append("  ").append(test.get("result")).append(' ').append(test.get("name"));
      String why = test.get("why");
      out.append(why.isEmpty() ? "" : ": " + why.lines().findFirst().orElse("")).append('\n');
    }
    out.append("\nbenchmarks\n");
    if (benchmarks.isEmpty()) {
      out.append("NOTHING WAS MEASURED: see benchmarks.log\n");
    }
    for (Map<String, String> row : benchmarks) {
      out.append("  ").append(String.join("  ", row.values())).append('\n');
    }
    out.append("\ndoctor\n").append(text(folder.resolve("doctor.txt"), "none\n"));
    Files.writeString(folder.resolve("report.txt"), out);
    System.out.print(out);
    System.exit(failed == 0 && passed > 0 ? 0 : 1);
  }

  private static Map<String, String> machine() {
    Map<String, String> out = new LinkedHashMap<>();
    out.put("time", Instant.now().toString());
    out.put("system", System.getProperty("os.name") + " " + System.getProperty("os.version"));
    out.put("processor", System.getProperty("os.arch"));
    out.put("java", System.getProperty("java.runtime.version"));
    out.put("javacpp", NativeLibrary.javacppVersion());
    boolean emulated = NativeLibrary.CUDA.isEmulated();
    out.put("level", emulated ? "EMULATED: the software GPU host" : "this machine's libraries");
    for (NativeLibrary library : NativeLibrary.all()) {
      out.put(
          library.name(),
          library.isAvailable()
              ? library.version().orElse("version unknown") + ", " + library.file().orElseThrow()
              : "not available");
    }
    try {
      for (CudaDevice device : CudaDriver.devices()) {
        out.put("device " + device.cudaOrdinal(), device.name() + (emulated ? " EMULATED" : ""));
      }
    } catch (RuntimeException e) {
      out.put("devices", String.valueOf(e.getMessage()).lines().findFirst().orElse(""));
    }
    return out;
  }

  /** What the probes of the benchmarks said; a probe that failed has a row that says why. */
  private static List<Map<String, String>> benchmarks(Path file) throws IOException {
    List<Map<String, String>> out = new ArrayList<>();
    for (String line : text(file, "").lines().toList()) {
      String[] words = line.split("\t", -1);
      Map<String, String> row = new LinkedHashMap<>();
      if (words[0].equals("ROW")) {
        double[] values =
            Stream.of(words[5].split(",", -1)).mapToDouble(Double::parseDouble).sorted().toArray();
        row.put("work", words[1]);
        row.put("by", words[2]);
        row.put("level", words[3]);
        row.put("median", number(values[values.length / 2]) + " " + words[4]);
        row.put("from .. to", number(values[0]) + " .. " + number(values[values.length - 1]));
      } else if (words[0].equals("FAILED")) {
        row.put("work", words[1]);
        row.put("problem", "NOT MEASURED: " + words[2]);
      }
      if (!row.isEmpty()) {
        out.add(row);
      }
    }
    return out;
  }

  private static String number(double value) {
    return String.format(Locale.ROOT, value < 100 ? "%.1f" : "%.0f", value);
  }

  private static List<Map<String, String>> tests(Path folder) throws Exception {
    List<Map<String, String>> out = new ArrayList<>();
    if (!Files.isDirectory(folder)) {
      return out;
    }
    try (Stream<Path> files = Files.list(folder)) {
      for (Path file : files.filter(one -> one.toString().endsWith(".xml")).sorted().toList()) {
        NodeList cases =
            DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(file.toFile())
                .getElementsByTagName("testcase");
        for (int i = 0; i < cases.getLength(); i++) {
          out.add(test((Element) cases.item(i)));
        }
      }
    }
    return out;
  }

  private static Map<String, String> test(Element one) {
    Map<String, String> out = new LinkedHashMap<>();
    out.put("name", one.getAttribute("classname") + "." + one.getAttribute("name"));
    out.put("seconds", one.getAttribute("time"));
    out.put("result", "passed");
    out.put("why", "");
    for (Node child = one.getFirstChild(); child != null; child = child.getNextSibling()) {
      String name = child.getNodeName();
      if (name.equals("failure") || name.equals("error") || name.equals("skipped")) {
        out.put("result", name.equals("skipped") ? "skipped" : "failed");
        String message = ((Element) child).getAttribute("message");
        out.put("why", (message.isEmpty() ? child.getTextContent() : message).strip());
      }
    }
    return out;
  }

  private static String text(Path file, String otherwise) throws IOException {
    return Files.exists(file) && Files.size(file) > 0 ? Files.readString(file) : otherwise;
  }

  private static String object(Map<String, String> map) {
    return "{"
        + String.join(
            ", ",
            map.entrySet().stream()
                .map(
                    entry ->
                        JsonText.quoted(entry.getKey()) + ": " + JsonText.quoted(entry.getValue()))
                .toList())
        + "}";
  }
}
