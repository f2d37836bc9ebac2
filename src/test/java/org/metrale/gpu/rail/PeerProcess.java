package org.metrale.gpu.rail;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.metrale.gpu.JniWarnings;
import org.metrale.gpu.RdmaDevices;
import org.metrale.gpu.wire.RailDialect;

/** A {@link RailPeer} that was started. */
final class PeerProcess implements AutoCloseable {
  private final Process process;
  private final BufferedReader out;
  private final Writer in;
  private final RailDialect dialect;
  private final int port;

  PeerProcess(RailDialect dialect, long bytes, RailPeer.Death death, List<String> devices)
      throws IOException {
    this(dialect, bytes, death, devices, Map.of());
  }

  /** One that serves for reading and whose devices have none of the faults of this process's. */
  static PeerProcess withSoundDevices(long bytes) throws IOException {
    return new PeerProcess(
        RailDialect.READ_ONLY,
        bytes,
        RailPeer.Death.NEVER,
        RdmaDevices.servers(),
        Map.of("METRALE_EMULATOR_CONFIG", ""));
  }

  PeerProcess(
      RailDialect dialect,
      long bytes,
      RailPeer.Death death,
      List<String> devices,
      Map<String, String> environment)
      throws IOException {
    this.dialect = dialect;
    List<String> command = new ArrayList<>();
    command.add(System.getProperty("java.home") + "/bin/java");
    command.addAll(
        List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-Xmx256m"));
    command.addAll(JniWarnings.options());
    for (String name :
        List.of("org.bytedeco.javacpp.maxPhysicalBytes", "org.metrale.library.path")) {
      if (System.getProperty(name) != null) {
        command.add("-D" + name + "=" + System.getProperty(name));
      }
    }
    command.addAll(List.of("-cp", System.getProperty("java.class.path")));
    command.addAll(
        List.of(RailPeer.class.getName(), dialect.name(), Long.toString(bytes), death.name()));
    command.addAll(devices);
    ProcessBuilder builder =
        new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT);
    builder.environment().putAll(environment);
    process = builder.start();
    out = process.inputReader(StandardCharsets.UTF_8);
    in = process.outputWriter(StandardCharsets.UTF_8);
    port = Integer.parseInt(answer("port ").trim());
  }

  private String answer(String start) throws IOException {
    String line = out.readLine();
    while (line != null && !line.startsWith(start)) {
      line = out.readLine();
    }
    if (line == null) {
      throw new IOException("the peer ended");
    }
    return line.substring(start.length());
  }

  RailClient client() {
    InetSocketAddress address = new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    return RailClient.to(address, dialect).rebuilding(true);
  }

  long sum(long offset, long length) throws IOException {
    return Long.parseLong(ask("sum " + offset + " " + length, "sum "));
  }

  /** Clients, and what the process holds. */
  String state() throws IOException {
    return ask("state", "state ");
  }

  private String ask(String question, String start) throws IOException {
    in.write(question + "\n");
    in.flush();
    return answer(start);
  }

  void kill() throws InterruptedException {
    process.destroyForcibly().waitFor();
  }

  void signal(String name) throws IOException, InterruptedException {
    Shell.run("kill -" + name + " " + process.pid());
  }

  @Override
  public void close() throws Exception {
    in.close();
    if (!process.waitFor(10, TimeUnit.SECONDS)) {
      kill();
    }
  }
}
