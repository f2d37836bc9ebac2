package org.metrale.gpu.rail;

import java.util.List;
import java.util.Objects;
import org.metrale.gpu.env.Environment;
import org.metrale.gpu.env.RailSetting;
import org.metrale.gpu.env.RailTier;
import org.metrale.gpu.verbs.VerbsPath;

/**
 * One rail as it is wanted: which device, and how to use it.
 *
 * @param device the RDMA device's name
 * @param path port, address, service, packet size and patience
 * @param depth how many requests may be in flight on it, 1 to 256
 */
public record RailSpec(String device, VerbsPath path, int depth) {
  /** The depth if none is given: what deployed programs use. */
  public static final int DEFAULT_DEPTH = 16;

  /**
   * Checks the depth.
   *
   * @param device the RDMA device's name
   * @param path port, address, service, packet size and patience
   * @param depth how many requests may be in flight on it, 1 to 256
   * @throws IllegalArgumentException if the name is empty or the depth out of range
   */
  public RailSpec {
    Objects.requireNonNull(path, "path");
    if (device.isEmpty() || depth < 1 || depth > 256) {
      throw new IllegalArgumentException("device \"" + device + "\", depth " + depth);
    }
  }

  /**
   * A rail on a device, with the best address of its first port.
   *
   * @param device the RDMA device's name
   * @return the rail
   */
  public static RailSpec of(String device) {
    return new RailSpec(device, VerbsPath.DEFAULT, DEFAULT_DEPTH);
  }

  /**
   * The rail that a setting describes.
   *
   * @param setting device and GID index
   * @return the rail
   * @throws IllegalArgumentException if the device's name is empty or the index above 255
   */
  public static RailSpec of(RailSetting setting) {
    int gidIndex = Math.toIntExact(Math.min(setting.gidIndex(), Integer.MAX_VALUE));
    return new RailSpec(setting.device(), VerbsPath.DEFAULT.from(1, gidIndex), DEFAULT_DEPTH);
  }

  /**
   * The rails of a tier, with its depth.
   *
   * @param tier the service that uses them
   * @param environment where to look
   * @return one or more rails, the first rail first
   * @throws IllegalArgumentException if variables are empty or mistyped; the message names each
   */
  public static List<RailSpec> fromEnvironment(RailTier tier, Environment environment) {
    int depth = Math.toIntExact(tier.strictPipelineDepth(environment).orElse(DEFAULT_DEPTH));
    return tier.strict(environment).stream().map(setting -> of(setting).withDepth(depth)).toList();
  }

  /**
   * The same with another depth.
   *
   * @param requests how many may be in flight, 1 to 256
   * @return the rail
   */
  public RailSpec withDepth(int requests) {
    return new RailSpec(device, path, requests);
  }

  /**
   * The same with another path.
   *
   * @param other port, address, service, packet size and patience
   * @return the rail
   */
  public RailSpec withPath(VerbsPath other) {
    return new RailSpec(device, other, depth);
  }
}
