package org.metrale.gpu.rail;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManagerFactory;

/** TLS between two ends of one JVM, with a key of its own made by the JDK's tool. */
final class Tls {
  private static final char[] PASSWORD = "changeit".toCharArray();
  private static final SSLContext CONTEXT;
  private static final SSLContext STRANGER;

  static {
    try {
      KeyStore keys = keys();
      KeyManagerFactory ours =
          KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
      ours.init(keys, PASSWORD);
      CONTEXT = context(ours.getKeyManagers(), keys);
      STRANGER = context(new KeyManager[0], keys);
    } catch (GeneralSecurityException | IOException | InterruptedException e) {
      throw new IllegalStateException("no TLS for the tests", e);
    }
  }

  private Tls() {}

  static ServerSocket listener() throws IOException {
    return CONTEXT
        .getServerSocketFactory()
        .createServerSocket(0, 1, InetAddress.getLoopbackAddress());
  }

  /** Makes sockets that trust each other's certificate. */
  static SSLSocketFactory sockets() {
    return CONTEXT.getSocketFactory();
  }

  /** Makes sockets that trust the certificate and have none to show. */
  static SSLSocketFactory socketsWithoutCertificate() {
    return STRANGER.getSocketFactory();
  }

  static Socket client(SocketAddress address) throws IOException {
    Socket socket = CONTEXT.getSocketFactory().createSocket();
    socket.connect(address);
    return socket;
  }

  private static SSLContext context(KeyManager[] ours, KeyStore trusted)
      throws GeneralSecurityException {
    TrustManagerFactory theirs =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    theirs.init(trusted);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(ours, theirs.getTrustManagers(), null);
    return context;
  }

  private static KeyStore keys()
      throws GeneralSecurityException, IOException, InterruptedException {
    Path folder = Files.createTempDirectory("handshake-tls");
    Path file = folder.resolve("keys.p12");
    try {
      Process keytool =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                  "-genkeypair",
                  "-alias",
                  "test",
                  "-keyalg",
                  "EC",
                  "-dname",
                  "CN=localhost",
                  "-storetype",
                  "PKCS12",
                  "-storepass",
                  new String(PASSWORD),
                  "-keystore",
                  file.toString())
              .redirectErrorStream(true)
              .redirectOutput(folder.resolve("log").toFile())
              .start();
      if (keytool.waitFor() != 0) {
        throw new IOException(Files.readString(folder.resolve("log")));
      }
      KeyStore keys = KeyStore.getInstance("PKCS12");
      try (InputStream in = Files.newInputStream(file)) {
        keys.load(in, PASSWORD);
      }
      return keys;
    } finally {
      Files.deleteIfExists(file);
      Files.deleteIfExists(folder.resolve("log"));
      Files.deleteIfExists(folder);
    }
  }
}
