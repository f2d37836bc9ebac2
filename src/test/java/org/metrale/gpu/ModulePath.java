package org.metrale.gpu;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.Attributes;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.stream.Stream;
import java.util.zip.Deflater;

/** Packs what the build left as folders, as users have it. */
final class ModulePath {
  private ModulePath() {}

  /**
   * A JVM that runs a test class as one of the module's, with everything else as modules of their
   * own; the folder receives the jars.
   */
  static ForkedJvm running(Class<?> main, Path folder, String... arguments) throws IOException {
    List<String> modules = new ArrayList<>();
    String patch = "";
    for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
      Path path = Path.of(entry);
      if (path.endsWith("target/classes") || path.endsWith(Fakes.platform())) {
        modules.add(jar(path, folder).toString());
      } else if (path.toString().contains("bytedeco")) {
        modules.add(entry);
      } else if (path.endsWith("test-classes")) {
        patch = entry;
      }
    }
    return ForkedJvm.running("org.metrale.gpu/" + main.getName(), arguments)
        .classPath()
        .options("--module-path", String.join(File.pathSeparator, modules))
        .options("--add-modules", "ALL-MODULE-PATH")
        .options("--patch-module", "org.metrale.gpu=" + patch);
  }

  /** A folder of classes as a jar in another folder. */
  static Path jar(Path classes, Path folder) throws IOException {
    Path jar = folder.resolve("packed-" + classes.getFileName() + ".jar");
    Manifest manifest = new Manifest();
    manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
    manifest.getMainAttributes().put(Attributes.Name.MULTI_RELEASE, "true");
    try (JarOutputStream out = new JarOutputStream(Files.newOutputStream(jar), manifest);
        Stream<Path> files = Files.walk(classes)) {
      out.setLevel(Deflater.BEST_SPEED);
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        out.putNextEntry(new JarEntry(classes.relativize(file).toString()));
        Files.copy(file, out);
      }
    }
    return jar;
  }
}
