package org.metrale.gpu.rail;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.List;

/**
 * Which addresses a server talks to.
 *
 * <p>This is no authentication: whoever can use an allowed address is let in.
 */
public final class AddressFilter {
  private final List<Network> networks;

  private AddressFilter(List<Network> networks) {
    this.networks = List.copyOf(networks);
  }

  /**
   * Everyone.
   *
   * @return a filter that allows every address
   */
  public static AddressFilter anyone() {
    return new AddressFilter(List.of());
  }

  /**
   * Given networks only.
   *
   * @param networks each an address, or an address with the number of bits that must agree, such as
   *     {@code 10.0.0.0/8}; at least one. No names: they would be looked up elsewhere than meant
   * @return a filter that allows these
   * @throws IllegalArgumentException if one is not of that form, or there is none
   */
  public static AddressFilter only(String... networks) {
    if (networks.length == 0) {
      throw new IllegalArgumentException("no network is named");
    }
    List<Network> parsed = new ArrayList<>();
    for (String text : networks) {
      parsed.add(Network.parse(text));
    }
    return new AddressFilter(parsed);
  }

  /**
   * Whether an address is allowed.
   *
   * @param address the peer's address
   * @return true if it is
   */
  public boolean allows(InetAddress address) {
    byte[] bytes = address.getAddress();
    return networks.isEmpty() || networks.stream().anyMatch(network -> network.contains(bytes));
  }

  @Override
  public String toString() {
    return networks.isEmpty() ? "anyone" : "only " + networks;
  }

  /** An address and how many of its bits count. */
  private static final class Network {
    private final String text;
    private final byte[] address;
    private final int bits;

    private Network(String text, byte[] address, int bits) {
      this.text = text;
      this.address = address;
      this.bits = bits;
    }

    static Network parse(String text) {
      int slash = text.indexOf('/');
      String host = slash < 0 ? text : text.substring(0, slash);
      // Shorter forms mean other addresses than they seem to: 10.1 would be 10.0.0.1.
      if (!host.matches("[0-9]{1,3}(\\.[0-9]{1,3}){3}|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*")) {
        throw new IllegalArgumentException(
            "\"" + text + "\": wanted an address, such as 10.0.0.0/8");
      }
      try {
        byte[] address = InetAddress.getByName(host).getAddress();
        int all = 8 * address.length;
        int bits = slash < 0 ? all : Integer.parseInt(text.substring(slash + 1));
        if (bits < 0 || bits > all) {
          throw new IllegalArgumentException("\"" + text + "\": wanted 0 to " + all + " bits");
        }
        return new Network(text, address, bits);
      } catch (UnknownHostException | NumberFormatException e) {
        throw new IllegalArgumentException("\"" + text + "\" is no network", e);
      }
    }

    boolean contains(byte[] other) {
      if (other.length != address.length) {
        return false;
      }
      for (int bit = 0; bit < bits; bit++) {
        if (((other[bit >> 3] ^ address[bit >> 3]) & 0x80 >> (bit & 7)) != 0) {
          return false;
        }
      }
      return true;
    }

    @Override
    public String toString() {
      return text;
    }
  }
}
