package org.metrale.tools;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Samples as lines of comma-separated values, written and read back; a line a GPU and time. */
final class TopCsv {
  private static final List<String> FIRST = List.of("time", "emulated", "gpu", "name", "uuid");

  private TopCsv() {}

  /**
   * A line that was read back.
   *
   * @param numbers those that were values
   */
  record Line(
      Instant time, boolean emulated, String gpu, String name, Map<TopField, Long> numbers) {}

  static String header() {
    List<String> out = new ArrayList<>(FIRST);
    for (TopField field : TopField.values()) {
      out.add(field.key());
    }
    return String.join(",", out);
  }

  static List<String> lines(TopSample sample) {
    List<String> out = new ArrayList<>();
    for (TopDevice device : sample.devices()) {
      List<String> cells = new ArrayList<>();
      cells.add(sample.time().toString());
      cells.add(Boolean.toString(sample.emulated()));
      cells.add(device.label());
      cells.add(quoted(TopReadings.text(device.name())));
      cells.add(TopReadings.text(device.uuid()));
      for (TopField field : TopField.values()) {
        cells.add(TopReadings.text(device.number(field)));
      }
      out.add(String.join(",", cells));
    }
    return out;
  }

  /** A sample as it would be read back. */
  static List<Line> parse(TopSample sample) {
    List<Line> out = new ArrayList<>();
    for (TopDevice device : sample.devices()) {
      Map<TopField, Long> numbers = new EnumMap<>(TopField.class);
      device
          .numbers()
          .forEach(
              (field, reading) ->
                  reading.toOptional().ifPresent(value -> numbers.put(field, value)));
      out.add(
          new Line(
              sample.time(),
              sample.emulated(),
              device.label(),
              TopReadings.text(device.name()),
              numbers));
    }
    return out;
  }

  /** Reads what was recorded; a last line that was cut off is left out. */
  static List<Line> read(Path file) throws IOException, ToolException {
    try (BufferedReader in = Files.newBufferedReader(file)) {
      String header = in.readLine();
      if (header == null || !header.startsWith(String.join(",", FIRST))) {
        throw new ToolException(file + " is no recording: it does not begin with " + header());
      }
      List<String> columns = List.of(header.split(",", -1));
      List<Line> out = new ArrayList<>();
      String line;
      while ((line = in.readLine()) != null) {
        List<String> cells = split(line);
        if (cells.size() == columns.size()) {
          parse(columns, cells).ifPresent(out::add);
        }
      }
      return out;
    }
  }

  private static Optional<Line> parse(List<String> columns, List<String> cells) {
    Map<TopField, Long> numbers = new EnumMap<>(TopField.class);
    for (TopField field : TopField.values()) {
      int column = columns.indexOf(field.key());
      if (column >= 0 && cells.get(column).matches("-?[0-9]{1,18}")) {
        numbers.put(field, Long.parseLong(cells.get(column)));
      }
    }
    try {
      Instant time = Instant.parse(cells.get(0));
      boolean emulated = Boolean.parseBoolean(cells.get(1));
      return Optional.of(new Line(time, emulated, cells.get(2), cells.get(3), numbers));
    } catch (DateTimeParseException e) {
      return Optional.empty(); // the header of a recording that was continued
    }
  }

  private static String quoted(String text) {
    return '"' + text.replace("\"", "\"\"") + '"';
  }

  private static List<String> split(String line) {
    List<String> out = new ArrayList<>();
    StringBuilder cell = new StringBuilder();
    boolean inside = false;
    for (int i = 0; i < line.length(); i++) {
      char c = line.charAt(i);
      if (c == '"') {
        boolean doubled = inside && i + 1 < line.length() && line.charAt(i + 1) == '"';
        if (doubled) {
          cell.append(c);
          i++;
        } else {
          inside = !inside;
        }
      } else if (c == ',' && !inside) {
        out.add(cell.toString());
        cell.setLength(0);
      } else {
        cell.append(c);
      }
    }
    out.add(cell.toString());
    return out;
  }
}
