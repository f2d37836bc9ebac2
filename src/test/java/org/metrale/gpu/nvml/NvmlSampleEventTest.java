package org.metrale.gpu.nvml;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NvmlSampleEventTest {
  @TempDir private Path folder;

  @Test
  void samplesAreInTheFlightRecording() throws Exception {
    Path file = folder.resolve("samples.jfr");
    try (Recording recording = new Recording()) {
      recording.enable("org.metrale.gpu.NvmlSample");
      recording.start();
      NvmlSampleSource source =
          new NvmlSampleSource() {
            @Override
            public void sample(NvmlSample into) {
              into.put(NvmlMetric.POWER_MILLIWATTS, 0, 123_456);
              into.put(NvmlMetric.MEMORY_USED_BYTES, 0, 1L << 35);
              into.put(NvmlMetric.TEMPERATURE_CELSIUS, 3, 0);
              into.put(NvmlMetric.ENERGY_MILLIJOULES, 0, 1000 + 7 * into.sequence());
            }

            @Override
            public void sampleSlow(NvmlSample into) {}
          };
      NvmlSamplerSettings quick =
          new NvmlSamplerSettings(Duration.ofMillis(10), Duration.ZERO, "recorded");
      try (NvmlSampler sampler = NvmlSampler.start(source, quick)) {
        NvmlSamplerTest.await(() -> sampler.latest().sequence() >= 5);
      }
      recording.stop();
      recording.dump(file);
    }
    List<RecordedEvent> events = RecordingFile.readAllEvents(file);
    assertTrue(events.size() >= 4, "events: " + events.size());
    for (RecordedEvent event : events) {
      assertEquals("recorded", event.getString("sampler"));
      assertEquals(123_456, event.getLong("powerMilliwatts"));
      assertEquals(1L << 35, event.getLong("memoryUsedBytes"));
      assertEquals(-1, event.getLong("temperatureCelsius"));
      assertEquals(7 * (event.getLong("sequence") - 1), event.getLong("energyMillijoules"));
    }
  }
}
