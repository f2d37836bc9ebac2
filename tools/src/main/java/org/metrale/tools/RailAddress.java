package org.metrale.tools;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.util.Optional;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/**
 * Where a peer listens, and what of it is wanted: {@code HOST:PORT} or {@code
 * rail://HOST:PORT/MODEL#FILE}.
 *
 * @param model the model's name at a weight peer; empty for the one file that is served
 * @param file which of the model's files; empty if there is only one
 */
record RailAddress(String host, int port, Optional<String> model, Optional<String> file) {
  private static final String SCHEME = "rail://";

  static RailAddress parse(String text) {
    String whole = text.startsWith(SCHEME) ? text : SCHEME + text;
    try {
      URI uri = new URI(whole);
      String host = uri.getHost();
      if (host == null || uri.getPort() < 1 || uri.getPort() > 0xFFFF) {
        throw wrong(text);
      }
      if (uri.getUserInfo() != null || uri.getQuery() != null) {
        throw wrong(text);
      }
      String path = uri.getPath();
      String name = path.startsWith("/") ? path.substring(1) : path;
      return new RailAddress(host, uri.getPort(), present(name), present(uri.getFragment()));
    } catch (URISyntaxException e) {
      throw new IllegalArgumentException(wrong(text).getMessage(), e);
    }
  }

  private static IllegalArgumentException wrong(String text) {
    return new IllegalArgumentException(
        "'" + text + "' is no peer: expected HOST:PORT or rail://HOST:PORT/MODEL#FILE");
  }

  private static Optional<String> present(String text) {
    return text == null || text.isEmpty() ? Optional.empty() : Optional.of(text);
  }

  /** The address; its name is not looked up yet. */
  InetSocketAddress socket() {
    String bare = host.startsWith("[") ? host.substring(1, host.length() - 1) : host;
    return InetSocketAddress.createUnresolved(bare, port);
  }

  /** An address as people write it. */
  static String text(InetSocketAddress address) {
    InetAddress resolved = address.getAddress();
    String name = resolved == null ? address.getHostString() : resolved.getHostAddress();
    return (name.contains(":") ? "[" + name + "]" : name) + ":" + address.getPort();
  }

  @Override
  public String toString() {
    return host + ":" + port;
  }

  /** Peers in arguments. */
  static final class Converter implements ITypeConverter<RailAddress> {
    /** For the parser of arguments. */
    Converter() {}

    @Override
    public RailAddress convert(String value) {
      try {
        return parse(value);
      } catch (IllegalArgumentException e) {
        throw new TypeConversionException(e.getMessage());
      }
    }
  }
}
