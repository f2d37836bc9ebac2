package org.metrale.tools;

import com.google.errorprone.annotations.MustBeClosed;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.metrale.gpu.LibraryUnavailableException;
import org.metrale.gpu.NativeLibrary;
import org.metrale.gpu.env.Environment;
import org.metrale.gpu.env.RailChain;
import org.metrale.gpu.env.RailTier;
import org.metrale.gpu.rail.RailSet;
import org.metrale.gpu.rail.RailSpec;
import org.metrale.gpu.verbs.VerbsDevice;
import org.metrale.gpu.verbs.VerbsException;
import org.metrale.gpu.verbs.VerbsPath;
import org.metrale.gpu.verbs.VerbsPort;
import org.metrale.gpu.wire.WireCounts;
import picocli.CommandLine.Option;

/**
 * Which rails a command uses: those it is told, else those that the environment describes, else
 * every device with an active port.
 */
final class RailOptions {
  private static final int MOST_DEPTH = 256;
  private static final int MOST_GID_INDEX = 255;

  @Option(
      names = "--device",
      paramLabel = "NAME[:GID]",
      description =
          "An RDMA device, with the index of its address if not the best one; once a rail.")
  private List<String> devices = List.of();

  @Option(
      names = "--rails",
      paramLabel = "N",
      description =
          "How many rails: the first N of those named, described by the environment, or found.")
  private Integer rails;

  @Option(
      names = "--tier",
      paramLabel = "TIER",
      defaultValue = "weight",
      description =
          "Whose variables describe the rails if no device is named: ${COMPLETION-CANDIDATES}"
              + " (default: ${DEFAULT-VALUE}).")
  private RailTier tier;

  @Option(
      names = "--depth",
      paramLabel = "N",
      description = "How many requests may be in flight on a rail, 1 to 256 (default: 16).")
  private Integer depth;

  /** For the parser of arguments. */
  RailOptions() {}

  /** What is wrong with them; null if nothing is. */
  String problem() {
    if (rails != null && (rails < 1 || rails > WireCounts.MAX_RAILS)) {
      return "--rails " + rails + ": expected 1 to " + WireCounts.MAX_RAILS;
    }
    if (depth != null && (depth < 1 || depth > MOST_DEPTH)) {
      return "--depth " + depth + ": expected 1 to " + MOST_DEPTH;
    }
    if (devices.size() > WireCounts.MAX_RAILS) {
      return "--device is given " + devices.size() + " times: expected at most 8";
    }
    try {
      named();
    } catch (IllegalArgumentException e) {
      return e.getMessage();
    }
    return null;
  }

  /** Opens them. */
  @MustBeClosed
  RailSet open() throws ToolException {
    try {
      List<RailSpec> specs = specs(Environment.ofProcess());
      if (rails != null) {
        if (rails > specs.size()) {
          throw new ToolException(
              "--rails " + rails + ": there are " + specs.size() + ": " + names(specs));
        }
        specs = specs.subList(0, rails);
      }
      if (depth != null) {
        specs = specs.stream().map(spec -> spec.withDepth(depth)).toList();
      }
      return RailSet.open(specs);
    } catch (LibraryUnavailableException e) {
      throw new ToolException("libibverbs is not here: " + Messages.brief(e) + REMEDY, e);
    } catch (VerbsException e) {
      throw new ToolException("no RDMA device can be used: " + e.getMessage() + REMEDY, e);
    } catch (IllegalArgumentException e) {
      String oneLine = String.join(" ", e.getMessage().lines().map(String::strip).toList());
      throw new ToolException(oneLine, e);
    }
  }

  private static final String REMEDY =
      "; what to do: install rdma-core (libibverbs1, ibverbs-providers) and load the adapter's"
          + " driver, or make a software one (modprobe rdma_rxe; rdma link add rxe0 type rxe netdev"
          + " eth0), or add --emulated to try this without any; ./metrale doctor says more";

  private List<RailSpec> named() {
    List<RailSpec> out = new ArrayList<>();
    for (String device : devices) {
      int colon = device.lastIndexOf(':');
      String name = colon < 0 ? device : device.substring(0, colon);
      VerbsPath path = VerbsPath.DEFAULT;
      if (colon >= 0) {
        String index = device.substring(colon + 1);
        if (!index.matches("[0-9]{1,3}") || Integer.parseInt(index) > MOST_GID_INDEX) {
          throw new IllegalArgumentException(
              "--device " + device + ": expected NAME or NAME:GID with GID from 0 to 255");
        }
        path = path.from(1, Integer.parseInt(index));
      }
      if (name.isEmpty()) {
        throw new IllegalArgumentException("--device " + device + ": the name is empty");
      }
      out.add(RailSpec.of(name).withPath(path));
    }
    return out;
  }

  private List<RailSpec> specs(Environment environment) throws ToolException {
    if (!devices.isEmpty()) {
      return named();
    }
    if (tier.chains().stream().anyMatch(chain -> isSet(chain, environment))) {
      return RailSpec.fromEnvironment(tier, environment);
    }
    return found();
  }

  private static boolean isSet(RailChain chain, Environment environment) {
    Stream<String> names = Stream.concat(chain.deviceNames().stream(), chain.gidNames().stream());
    return Stream.concat(names, chain.onlyIf().stream())
        .anyMatch(name -> environment.value(name).isPresent());
  }

  /** Every device with an active port, the first such port of each. */
  static List<RailSpec> found() throws ToolException {
    List<String> names = VerbsDevice.list();
    List<RailSpec> out = new ArrayList<>();
    for (String name : names) {
      try (VerbsDevice device = VerbsDevice.open(name)) {
        device.ports().stream()
            .filter(port -> port.isActive() && port.gidChoice().isPresent())
            .mapToInt(VerbsPort::portNumber)
            .findFirst()
            .ifPresent(
                port ->
                    out.add(
                        RailSpec.of(name)
                            .withPath(VerbsPath.DEFAULT.from(port, VerbsPath.CHOOSE_GID))));
      }
    }
    if (out.isEmpty()) {
      throw new ToolException(
          names.isEmpty()
              ? "there is no RDMA device here" + REMEDY
              : "no port of "
                  + String.join(", ", names)
                  + " is active and has an address"
                  + REMEDY);
    }
    return out.subList(0, Math.min(out.size(), WireCounts.MAX_RAILS));
  }

  static String names(List<RailSpec> specs) {
    return String.join(", ", specs.stream().map(RailSpec::device).toList());
  }

  /** What the first and the last line begin with. */
  static String mark() {
    return NativeLibrary.IBVERBS.isEmulated() ? "EMULATED: " : "";
  }

  /** What the rails are made of. */
  static String level(List<RailSpec> specs) {
    if (NativeLibrary.IBVERBS.isEmulated()) {
      return "emulated adapters";
    }
    boolean soft =
        specs.stream()
            .allMatch(
                spec -> Files.exists(Path.of("/sys/class/infiniband", spec.device(), "parent")));
    return soft ? "Soft-RoCE" : "RDMA adapters";
  }
}
