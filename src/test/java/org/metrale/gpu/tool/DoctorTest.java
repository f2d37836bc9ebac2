package org.metrale.gpu.tool;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.metrale.gpu.Fakes;
import org.metrale.gpu.ForkedJvm;
import org.metrale.gpu.NativeLibrary;

/** The doctor as a user runs it, on a machine without vendor libraries. */
@Tag("native")
final class DoctorTest {
  @TempDir Path folder;

  private ForkedJvm doctor(String... arguments) {
    // An empty folder as every library's place keeps libraries of this machine out of the answers.
    ForkedJvm out = ForkedJvm.running(Doctor.class, arguments);
    for (String library : new String[] {"cuda", "nccl", "nvml", "cufile", "ibverbs"}) {
      out.property("org.metrale." + library + ".path", folder.resolve("absent-" + library + ".so"));
    }
    return out;
  }

  @Test
  void knowsTheCLibraryOfOldAndNewSystems() {
    assertTrue(SystemSection.isCLibrary("/lib/x86_64-linux-gnu/libc-2.31.so"));
    assertTrue(SystemSection.isCLibrary("/usr/lib/aarch64-linux-gnu/libc.so.6"));
    assertFalse(SystemSection.isCLibrary("/usr/lib/libcap.so.2.44"));
    assertFalse(SystemSection.isCLibrary("/usr/lib/x86_64-linux-gnu/libc-client.so"));
  }

  @Test
  void saysOfEachLibraryThatItIsAbsentAndWhereItWasLookedFor() throws Exception {
    ForkedJvm.Result result = doctor("--json").run().succeeded();
    JsonNode report = new ObjectMapper().readTree(result.output());
    for (String section : new String[] {"cuda", "nccl", "nvml", "cufile", "verbs"}) {
      JsonNode library = report.get(section);
      assertFalse(library.get("available").asBoolean(), section);
      assertTrue(library.get("tried").get(0).asText().contains("absent-"), section);
    }
  }

  @Test
  void describesTheSystem() throws Exception {
    JsonNode system =
        new ObjectMapper().readTree(doctor("--json").run().succeeded().output()).get("system");
    assertEquals(System.getProperty("os.arch"), system.get("architecture").asText());
    assertTrue(system.get("glibc").asText().matches("[0-9]+\\.[0-9]+"), system.toString());
    assertTrue(system.get("page size bytes").asLong() >= 4096, system.toString());
    assertTrue(system.get("javacpp").asText().startsWith("1.5."), system.toString());
  }

  @Test
  void endsWithOneAndTheReasonWhenWhatIsRequiredDoesNotWork() throws Exception {
    ForkedJvm.Result result = doctor("--require", "nccl,nvml").run();
    assertEquals(1, result.exit());
    assertTrue(result.output().contains("doctor: nccl does not work: "), result.output());
    assertTrue(result.output().contains("doctor: nvml does not work: "), result.output());
  }

  @Test
  void endsWithTwoForWhatItDoesNotKnow() throws Exception {
    assertEquals(2, doctor("--what").run().exit());
    ForkedJvm.Result result = doctor("--require", "nccl,ncll").run();
    assertEquals(2, result.exit());
    assertTrue(result.output().contains("'ncll'"), result.output());
    assertEquals(2, doctor("--require", "").run().exit());
    assertEquals(2, doctor("--require").run().exit());
  }

  @Test
  void goesOnAfterALibraryThatIsNone() throws Exception {
    Path text = Files.writeString(folder.resolve("absent-nccl.so"), "no library ".repeat(99));
    ForkedJvm.Result result = doctor("--json").run().succeeded();
    JsonNode report = new ObjectMapper().readTree(result.output());
    assertTrue(report.get("nccl").toString().contains("invalid ELF header"), text.toString());
    assertTrue(report.has("copies of libraries"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"cuda", "nccl", "nvml", "cufile", "ibverbs"})
  void namesTwoCopiesOfALibraryInTheProcess(String name) throws Exception {
    NativeLibrary library = NativeLibrary.named(name);
    Path preloaded = Fakes.file("older", library);
    // Under a name of its own, as a user may keep it.
    Path given = Files.copy(Fakes.file("full", library), folder.resolve("mine-" + name));
    ForkedJvm.Result result =
        doctor("--json")
            .environment("LD_PRELOAD", preloaded)
            .property("org.metrale." + name + ".path", given)
            .run()
            .succeeded();
    // A shell in between, of another architecture, says that it cannot preload that.
    String report = result.output().substring(result.output().indexOf('{'));
    JsonNode copies = new ObjectMapper().readTree(report).get("copies of libraries");
    Set<String> named = new TreeSet<>();
    copies.path(library.soname()).forEach(one -> named.add(one.asText()));
    assertEquals(new TreeSet<>(List.of(preloaded.toString(), given.toString())), named);
    assertEquals(1, copies.size(), copies.toString());
  }

  @Test
  void findsNoCopiesWhereALibraryIsThereOnce() throws Exception {
    ForkedJvm.Result result =
        doctor("--json")
            .property("org.metrale.nccl.path", Fakes.file("full", NativeLibrary.NCCL))
            .run()
            .succeeded();
    JsonNode report = new ObjectMapper().readTree(result.output());
    assertTrue(report.get("nccl").get("available").asBoolean(), result.output());
    assertEquals("none", report.get("copies of libraries").get("more than one").asText());
  }
}
