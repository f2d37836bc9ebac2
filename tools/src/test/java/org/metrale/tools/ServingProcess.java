package org.metrale.tools;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A {@code rail serve} that has begun to listen. */
final class ServingProcess implements AutoCloseable {
  private static final long SECONDS = 60;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final Process process;
  private final BufferedReader out;
  private final JsonNode beginning;

  /** On the software GPU host. */
  ServingProcess(String... arguments) throws IOException {
    this(List.of(ToolProcess.onEmulator(arguments)));
  }

  /** On the devices that the arguments name. */
  static ServingProcess onDevices(String... arguments) throws IOException {
    return new ServingProcess(List.of(arguments));
  }

  private ServingProcess(List<String> arguments) throws IOException {
    List<String> all = new ArrayList<>(List.of("rail", "serve", "--json"));
    all.addAll(arguments);
    process =
        ToolProcess.builder(all.toArray(String[]::new))
            .redirectError(ProcessBuilder.Redirect.INHERIT)
            .start();
    out = process.inputReader(StandardCharsets.UTF_8);
    String line = out.readLine();
    assertNotNull(line, "the server ended");
    beginning = JSON.readTree(line);
  }

  JsonNode beginning() {
    return beginning;
  }

  String peer() {
    return beginning.get("host").asText() + ":" + beginning.get("port").asInt();
  }

  /** Tells it to end, as a terminal or a service manager does. */
  void terminate() {
    // Process.destroy() would also close what it has still to say.
    process.toHandle().destroy();
  }

  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  int exitCode() throws InterruptedException {
    assertTrue(process.waitFor(SECONDS, TimeUnit.SECONDS), "the server did not end");
    return process.exitValue();
  }

  /** Its last line. */
  JsonNode ending() throws IOException {
    String line = out.readLine();
    assertNotNull(line, "the server ended without a word");
    return JSON.readTree(line);
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
