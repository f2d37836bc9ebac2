package org.metrale.tools;

import java.awt.Color;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import javax.imageio.ImageIO;
import org.knowm.xchart.BitmapEncoder;
import org.knowm.xchart.XYChart;
import org.knowm.xchart.XYChartBuilder;
import org.knowm.xchart.style.Styler;
import org.knowm.xchart.style.markers.SeriesMarkers;

/** Four charts of a recorded run in one picture: how busy, power, memory, temperature. */
final class TopChart {
  private static final int WIDTH = 800;
  private static final int HEIGHT = 450;

  private record Panel(String title, String unit, TopField field, double divisor) {}

  private static final List<Panel> PANELS =
      List.of(
          new Panel("GPU busy", "percent", TopField.GPU_PERCENT, 1),
          new Panel("Power", "watts", TopField.POWER_MILLIWATTS, 1e3),
          new Panel("Memory used", "GiB", TopField.MEMORY_USED_BYTES, 1 << 30),
          new Panel("Temperature", "degrees Celsius", TopField.TEMPERATURE_CELSIUS, 1));

  private TopChart() {}

  static void write(List<TopCsv.Line> lines, Path file) throws IOException, ToolException {
    if (lines.isEmpty()) {
      throw new ToolException("there is nothing to draw: the recording has no sample");
    }
    System.setProperty("java.awt.headless", "true");
    ImageIO.setUseCache(false); // its cache needs a shutdown hook, which Ctrl-C has no room for
    List<XYChart> charts = new ArrayList<>();
    for (Panel panel : PANELS) {
      charts.add(chart(panel, lines));
    }
    BitmapEncoder.saveBitmap(charts, 2, 2, file.toString(), BitmapEncoder.BitmapFormat.PNG);
  }

  private static XYChart chart(Panel panel, List<TopCsv.Line> lines) {
    boolean emulated = lines.stream().anyMatch(TopCsv.Line::emulated);
    String title = emulated ? "EMULATED: " + panel.title : panel.title;
    XYChart chart =
        new XYChartBuilder()
            .width(WIDTH)
            .height(HEIGHT)
            .title(title)
            .xAxisTitle("seconds")
            .yAxisTitle(panel.unit)
            .build();
    chart.getStyler().setLegendPosition(Styler.LegendPosition.OutsideE);
    chart.getStyler().setYAxisMin(0.0);
    // Not ".02" beside "0.1".
    chart.getStyler().setDecimalPattern("#,##0.###");
    chart.getStyler().setChartBackgroundColor(Color.WHITE);
    long start = lines.get(0).time().toEpochMilli();
    Map<String, List<List<Double>>> series = new TreeMap<>();
    for (TopCsv.Line line : lines) {
      Long value = line.numbers().get(panel.field);
      if (value != null) {
        List<List<Double>> points =
            series.computeIfAbsent(
                line.gpu() + " " + line.name(), g -> List.of(new ArrayList<>(), new ArrayList<>()));
        points.get(0).add((line.time().toEpochMilli() - start) / 1e3);
        points.get(1).add(value / panel.divisor);
      }
    }
    series.forEach(
        (name, points) ->
            chart.addSeries(name, points.get(0), points.get(1)).setMarker(SeriesMarkers.NONE));
    if (series.isEmpty()) {
      chart.setTitle(title + ": no GPU told");
    }
    return chart;
  }
}
