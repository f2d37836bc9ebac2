package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * A release of NCCL that nobody has published: a wheel with a header, in a cache of its own that
 * has everything else by links, and a copy of the tree whose build may stage it.
 */
final class NewHeaderRelease {
  private static final String VERSION = "2.99.1";
  private static final Pattern PIN =
      Pattern.compile(
          "^(header +(nvidia-nccl-\\S+) +)\\S+( +(\\S+) +)[0-9a-f]{64}$", Pattern.MULTILINE);

  private final RegenerateTree tree;
  private final Path cache;
  private final Path header;

  NewHeaderRelease(RegenerateTree tree, Path folder, Path header) throws IOException {
    this.tree = tree;
    this.header = header;
    this.cache = folder.resolve("cache");
    link(ForkedJvm.cache(), cache, List.of("unpacked", "wheels", ".lock"));
    link(ForkedJvm.cache().resolve("unpacked"), cache.resolve("unpacked"), List.of());
    tree.copy("cppbuild.sh");
    Path maven = Files.writeString(tree.root().resolve("mvnw"), "#!/bin/sh\n");
    assertTrue(maven.toFile().setExecutable(true));
    // What Maven would build: the recipes, which look at no header.
    Files.createDirectories(tree.root().resolve("target"));
    Files.createSymbolicLink(tree.root().resolve("target/classes"), RegenerateTree.recipes());
    Files.writeString(tree.root().resolve("target/classpath"), RegenerateTree.libraries());
    // Staged by this tree itself.
    Files.delete(tree.root().resolve("cppbuild"));
  }

  /** The folder for the variable {@code METRALE_CACHE}. */
  Path cache() {
    return cache;
  }

  /** Publishes it, and names it in the copy of the pins. */
  void pin() throws Exception {
    Path pins = tree.root().resolve("src/build/pins.txt");
    String text = Files.readString(pins);
    Matcher pin = PIN.matcher(text);
    assertTrue(pin.find(), text);
    Path wheel =
        Files.createDirectories(
                cache.resolve("wheels/" + pin.group(2) + "-" + VERSION + "-" + pin.group(4)))
            .resolve("new.whl");
    try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(wheel))) {
      zip.putNextEntry(new ZipEntry("nvidia/nccl/include/nccl.h"));
      Files.copy(header, zip);
      zip.closeEntry();
    }
    String sum =
        HexFormat.of()
            .formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(wheel)));
    Files.writeString(pins, pin.replaceFirst("$1" + VERSION + "$3" + sum));
  }

  private static void link(Path from, Path to, List<String> except) throws IOException {
    Files.createDirectories(to);
    try (Stream<Path> entries = Files.list(from)) {
      for (Path entry : entries.toList()) {
        if (!except.contains(entry.getFileName().toString())) {
          Files.createSymbolicLink(to.resolve(entry.getFileName()), entry);
        }
      }
    }
  }
}
