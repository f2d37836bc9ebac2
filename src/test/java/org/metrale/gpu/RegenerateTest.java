package org.metrale.gpu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.metrale.gpu.RegenerateTree.Outcome;

/**
 * {@code metrale regenerate} in a copy of the tree: what it says of a new header, and what it
 * refuses.
 */
@Tag("native")
@Tag("full")
final class RegenerateTest {
  private static final String GUIDE = "## What is generated, and how to take in a new header\n";
  private static final Pattern GUIDE_BLOCK = Pattern.compile("```\n(.*?)\n *```", Pattern.DOTALL);

  @TempDir Path folder;
  private RegenerateTree tree;

  @BeforeEach
  void copyTheTree() throws IOException {
    tree = RegenerateTree.in(folder);
  }

  @Test
  void stagedHeaderMakesNoDifference() throws Exception {
    Map<String, String> before = generated();
    Outcome outcome = regenerate("--nccl", staged("nccl.h").toString(), "--check");
    assertEquals(new Outcome(0, "no difference\n"), outcome);
    assertEquals(before, generated());
  }

  @Test
  void saysWhatChangedAndWritesTheSameTwice() throws Exception {
    Path header = changedHeader();
    Map<String, String> before = generated();
    Outcome check = regenerate("--nccl", header.toString(), "--check");
    assertEquals(1, check.status(), check.text());
    assertEquals(before, generated(), "--check changed the tree");
    for (String line :
        List.of(
            "  functions: 1 added, 2 removed, 0 changed",
            "    + ncclBrandNew",
            "    - ncclMemFree (and pncclMemFree)",
            "    ~ ncclWaitSignalDesc_t",
            "        + int inserted at 4",
            "        ~ peer moved at 8, was at 4",
            "        ~ size 20, was 16",
            "    + NCCL_BRAND_NEW = 7",
            "    - NCCL_SHRINK_ABORT, was 0x01",
            "  + ncclBrandNew is not in it",
            "  - ncclMemFree is in it, and in the header no longer")) {
      assertTrue(check.text().lines().anyMatch(line::equals), line + "\nin\n" + check.text());
    }
    assertTrue(check.text().contains("  nccl/NcclCalls.java: "), check.text());
    assertTrue(
        check.text().contains("metrale_nccl_communicator.h:")
            && check.text().contains("use of undeclared identifier 'ncclMemFree'"),
        check.text());

    Outcome written = regenerate("--nccl", header.toString());
    assertEquals(0, written.status(), written.text());
    Map<String, String> after = generated();
    assertTrue(after.get("java/org/metrale/global/nccl.java").contains(" ncclBrandNew("));
    assertFalse(after.get("include/metrale_nccl_functions.h").contains("ncclMemFree"));
    Outcome again = regenerate("--nccl", header.toString(), "--check");
    assertEquals(0, again.status(), again.text());
    assertTrue(again.text().startsWith("no difference\n"), again.text());
  }

  @ParameterizedTest
  @CsvSource({
    "text, 'not a header that can be compiled: HEADER:1:1: error:'",
    "empty, 'HEADER: the file is empty'",
    "binary, 'HEADER:1: a binary file'",
    "cut, 'is it whole?'",
    "missing, '''nowhere.h'' file not found'",
    "other, 'declares no function that starts with nccl'",
    "folder, 'HEADER: the folder has no nccl.h'",
    "absent, 'HEADER: there is no such file'"
  })
  void refusesWhatIsNoHeader(String kind, String message) throws Exception {
    Path header = folder.resolve("nccl.h");
    String whole = Files.readString(staged("nccl.h"));
    switch (kind) {
      case "text" -> Files.writeString(header, "Dear reader,\nthis is not a header.\n");
      case "empty" -> Files.writeString(header, "\n");
      case "binary" -> Files.write(header, new byte[] {1, 0, 2, 0});
      case "cut" -> Files.writeString(header, whole.substring(0, whole.length() / 2));
      case "missing" -> Files.writeString(header, "#include <nowhere.h>\n" + whole);
      case "other" -> Files.copy(staged("cufile.h"), header);
      case "folder" -> Files.createDirectory(header);
      default -> {}
    }
    Map<String, String> before = generated();
    Outcome outcome = regenerate("--nccl", header.toString());
    assertEquals(2, outcome.status(), outcome.text());
    String expected = message.replace("HEADER", header.toString());
    assertTrue(outcome.text().contains(expected), outcome.text());
    assertEquals(before, generated());
  }

  @Test
  void namesADeclarationThatCannotBeMapped() throws Exception {
    Path header = folder.resolve("nccl.h");
    Files.writeString(
        header,
        edited(
            "#define NCCL_SHRINK_ABORT ",
            "#define NCCL_STRANGE INT_MAX\n#define NCCL_SHRINK_ABORT "));
    Map<String, String> before = generated();
    Outcome outcome = regenerate("--nccl", header.toString());
    assertEquals(3, outcome.status(), outcome.text());
    assertTrue(
        outcome.text().contains("nccl.h: NCCL_STRANGE cannot be mapped: cannot find symbol"),
        outcome.text());
    assertTrue(
        outcome.text().contains("add an Info to src/main/java/org/metrale/presets/nccl.java"),
        outcome.text());
    assertEquals(before, generated());
  }

  @Test
  void knowsItsOptions() throws Exception {
    assertEquals(2, regenerate("--frobnicate").status());
    assertEquals(2, regenerate("--nccl").status());
  }

  /** With Maven and everything, as a person calls it. */
  @Test
  void needsNoNetworkOnceDependenciesAreCached() throws Exception {
    List<String> alone = List.of("unshare", "--map-root-user", "--net");
    List<String> nothing = new ArrayList<>(alone);
    nothing.add("true");
    assumeTrue(
        tree.start(nothing.toArray(String[]::new)).status() == 0,
        "this kernel gives no network of one's own");
    tree.copy("mvnw", "cppbuild.sh");
    List<String> command = new ArrayList<>(alone);
    command.addAll(List.of("./metrale", "regenerate", "--check"));
    Outcome outcome = tree.start(command.toArray(String[]::new));
    assertEquals(0, outcome.status(), outcome.text());
    assertTrue(outcome.text().endsWith("no difference\n"), outcome.text());
  }

  /**
   * Every command of the guide, in order and as it stands there, with the pin changed where it says
   * so. Only Maven is replaced, by nothing: what it builds is there.
   */
  @Test
  void guideIsFollowedLiterally() throws Exception {
    Path header = changedHeader();
    NewHeaderRelease release = new NewHeaderRelease(tree, folder, header);
    List<String> done = new ArrayList<>();
    for (String line : guideCommands()) {
      if (line.startsWith("./cppbuild.sh")) {
        release.pin();
      }
      String command = line.replace("PATH", header.toString());
      Outcome outcome =
          tree.start("env", "METRALE_CACHE=" + release.cache(), "bash", "-c", command);
      done.add(outcome.status() + " " + line);
      if (outcome.status() > 1) {
        done.add(outcome.text());
      }
    }
    assertEquals(
        List.of(
            "1 ./metrale regenerate --nccl PATH --check",
            "0 ./metrale regenerate --nccl PATH",
            "0 ./cppbuild.sh headers",
            "0 ./metrale regenerate --check"),
        done);
    assertTrue(generated().get("java/org/metrale/global/nccl.java").contains(" ncclBrandNew("));
  }

  /** What stands in the blocks of the guide; its last step, which is the whole build, has none. */
  private static List<String> guideCommands() throws IOException {
    String text = Files.readString(Fakes.repository().resolve("ARCHITECTURE.md"));
    String guide = text.substring(text.indexOf(GUIDE));
    guide = guide.substring(0, guide.indexOf("\n## "));
    assertTrue(guide.contains("6. `./mvnw verify`"), guide);
    List<String> out = new ArrayList<>();
    Matcher block = GUIDE_BLOCK.matcher(guide);
    while (block.find()) {
      block.group(1).lines().map(String::trim).forEach(out::add);
    }
    return out;
  }

  /** A function, a constant and a field more; a function and a constant less. */
  private Path changedHeader() throws IOException {
    Path header = folder.resolve("changed.h");
    String text =
        edited("#define NCCL_SHRINK_ABORT .*", "#define NCCL_BRAND_NEW 7")
            .replaceFirst("(\\n *int opCnt;.*)", "$1\n  int inserted;")
            .replaceAll("\\n *ncclResult_t +p?ncclMemFree\\([^;]*;", "\n")
            .replaceFirst(
                "\\n( *ncclResult_t +ncclCommFinalize\\()",
                "\nncclResult_t ncclBrandNew(ncclComm_t comm, int number);\n$1");
    return Files.writeString(header, text);
  }

  private static String edited(String pattern, String replacement) throws IOException {
    String whole = Files.readString(staged("nccl.h"));
    String out = whole.replaceFirst(pattern, replacement);
    assertFalse(out.equals(whole), pattern + " is not in the header");
    return out;
  }

  private static Path staged(String name) {
    return Fakes.repository().resolve("cppbuild/include").resolve(name);
  }

  private Outcome regenerate(String... options) throws Exception {
    return tree.regenerate(options);
  }

  private Map<String, String> generated() throws IOException {
    return tree.generated();
  }
}
