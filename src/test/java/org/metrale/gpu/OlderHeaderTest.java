package org.metrale.gpu;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;

/** Headers from before the pinned ones: the oldest of each library, and one between. */
@Tag("full")
final class OlderHeaderTest {
  @TempDir Path folder;

  @TestFactory
  Stream<DynamicTest> oldestAndOneBetween() throws IOException {
    Set<MatrixRow> some = new LinkedHashSet<>();
    for (List<MatrixRow> all : OlderHeader.rows().values()) {
      some.add(all.get(0));
      some.add(all.get(all.size() / 2));
    }
    return some.stream()
        .map(
            row ->
                DynamicTest.dynamicTest(
                    row.label(),
                    () ->
                        OlderHeader.check(
                            row,
                            Files.createTempDirectory(folder, "header"),
                            new LinkedHashMap<>())));
  }
}
