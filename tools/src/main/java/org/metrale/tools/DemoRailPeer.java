package org.metrale.tools;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The process of {@link DemoRailPeerCommand}, seen from the first. */
final class DemoRailPeer implements AutoCloseable {
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private final Process process;
  private final Writer in;
  private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

  private DemoRailPeer(Process process) {
    this.process = process;
    this.in = process.outputWriter(StandardCharsets.UTF_8);
    Thread reader = new Thread(this::read, "demo-rail-peer-reader");
    reader.setDaemon(true);
    reader.start();
  }

  static DemoRailPeer start(List<String> devices, long bytes) throws ToolException {
    List<String> arguments = new ArrayList<>(List.of("demo-rail-peer", "--bytes=" + bytes));
    devices.forEach(device -> arguments.add("--device=" + device));
    return new DemoRailPeer(ChildJvm.start(arguments));
  }

  private void read() {
    try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
      String line;
      while ((line = out.readLine()) != null) {
        lines.add(line);
      }
    } catch (IOException e) {
      // it is gone
    }
    lines.add("");
  }

  /** Where it listens. */
  RailAddress address() throws ToolException, InterruptedException {
    return RailAddress.parse("127.0.0.1:" + answer(DemoRailPeerCommand.PORT));
  }

  /** The checksum of its arena, as its processor sees it. */
  String sum() throws ToolException, InterruptedException {
    try {
      in.write("sum\n");
      in.flush();
    } catch (IOException e) {
      throw new ToolException(this + " cannot be asked anything", e);
    }
    return answer(DemoRailPeerCommand.SUM);
  }

  private String answer(String start) throws ToolException, InterruptedException {
    StringBuilder said = new StringBuilder();
    String line = lines.poll(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    while (line != null && !line.isEmpty() && !line.startsWith(start)) {
      said.append('\n').append(line);
      line = lines.poll(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    }
    if (line == null) {
      throw new ToolException(this + " does not answer" + said);
    }
    if (line.isEmpty()) {
      throw new ToolException(this + " has ended with " + process.waitFor() + said);
    }
    return line.substring(start.length());
  }

  long pid() {
    return process.pid();
  }

  @Override
  public String toString() {
    return "process " + process.pid();
  }

  @Override
  public void close() throws IOException {
    process.destroyForcibly();
    in.close();
  }
}
