package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** COMPATIBILITY.md says what was found, for every row of the table, and nobody typed in it. */
@Tag("native")
final class CompatibilityTest {
  private static final Path RESULTS = Fakes.repository().resolve("reports/compatibility.json");

  @Test
  void theFileIsWhatTheResultsGive() throws Exception {
    Process process =
        new ProcessBuilder(
                "python3",
                Fakes.repository().resolve("src/build/matrix/report.py").toString(),
                "render",
                RESULTS.toString())
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    String rendered = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertEquals(0, process.waitFor());
    assertEquals(
        rendered,
        Files.readString(Fakes.repository().resolve("COMPATIBILITY.md")),
        "run ./metrale matrix");
  }

  @Test
  void everyRowOfTheTableWasTried() throws Exception {
    List<String> wanted = new ArrayList<>();
    for (String kind :
        List.of(
            "nccl",
            "cufile",
            "nvml",
            "cuda",
            "javacpp",
            "javacpp-older",
            "java",
            "system",
            "header")) {
      MatrixRow.of(kind).forEach(row -> wanted.add(row.label()));
    }
    List<String> tried = new ArrayList<>();
    for (JsonNode row : new ObjectMapper().readTree(RESULTS.toFile()).path("rows")) {
      tried.add(
          String.join(
              " ",
              row.path("kind").asText(),
              row.path("name").asText(),
              row.path("version").asText(),
              row.path("from").asText()));
    }
    wanted.removeAll(tried);
    assertEquals(List.of(), wanted, "rows that were never tried: run ./metrale matrix");
  }
}
