package org.metrale.gpu.tool;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.metrale.gpu.DaemonThread;
import org.metrale.gpu.NativeLibrary;

/**
 * Says what of NVIDIA's and RDMA's software is on this machine, where it was found, and why not.
 *
 * <p>Usage: {@code Doctor [--json] [--require cuda,nccl,nvml,cufile,verbs,nvtx]}. The exit code is
 * 0; 1 if something in {@code --require} does not work, with the reason on standard error; 2 for
 * arguments that are not understood. A section that fails or does not answer within its deadline
 * says so and does not stop the others.
 */
public final class Doctor {
  private static final Duration SECTION_DEADLINE = Duration.ofSeconds(10);

  private final List<DoctorSection> sections;
  private final Map<String, Object> report = new LinkedHashMap<>();
  private final Map<String, List<String>> problems = new LinkedHashMap<>();

  private Doctor(List<DoctorSection> sections) {
    this.sections = sections;
  }

  /**
   * Runs the doctor and ends the process.
   *
   * @param arguments see the class
   */
  public static void main(String[] arguments) {
    Process output = keepOutput();
    ByteArrayOutputStream report = new ByteArrayOutputStream();
    ByteArrayOutputStream problems = new ByteArrayOutputStream();
    int code = run(arguments, text(report), text(problems));
    print(report, output);
    System.err.print(problems.toString(StandardCharsets.UTF_8));
    // Some library or driver may still hold a thread: the process ends all the same.
    System.exit(code);
  }

  private static PrintStream text(ByteArrayOutputStream out) {
    return new PrintStream(out, true, StandardCharsets.UTF_8);
  }

  /**
   * Keeps standard output for the report alone: some libraries print to it, which nothing that
   * reads JSON would understand. A program that copies has it from now on, and here it leads
   * nowhere.
   *
   * @return the program; null if there is none, and libraries may print
   */
  private static Process keepOutput() {
    try {
      Process copier =
          new ProcessBuilder("cat")
              .redirectOutput(ProcessBuilder.Redirect.INHERIT)
              .redirectError(ProcessBuilder.Redirect.INHERIT)
              .start();
      // Java leads a standard stream that is closed to /dev/null.
      System.out.close();
      return copier;
    } catch (IOException e) {
      return null;
    }
  }

  private static void print(ByteArrayOutputStream report, Process output) {
    if (output == null) {
      System.out.print(report.toString(StandardCharsets.UTF_8));
      System.out.flush();
      return;
    }
    try (OutputStream to = output.getOutputStream()) {
      report.writeTo(to);
    } catch (IOException e) {
      // Whoever read it has ended.
      return;
    }
    try {
      output.waitFor();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /**
   * Runs the doctor.
   *
   * @param arguments see the class
   * @param out receives the report
   * @param err receives what is wrong with the arguments or with what was required
   * @return the exit code
   */
  static int run(String[] arguments, PrintStream out, PrintStream err) {
    boolean json = false;
    Set<String> required = new TreeSet<>();
    List<DoctorSection> sections = allSections();
    List<String> known = sections.stream().map(DoctorSection::name).toList();
    for (int i = 0; i < arguments.length; i++) {
      if (arguments[i].equals("--json")) {
        json = true;
      } else if (arguments[i].equals("--require") && i + 1 < arguments.length) {
        required.addAll(List.of(arguments[++i].split(",", -1)));
      } else {
        err.println("doctor: unknown argument " + arguments[i]);
        err.println("usage: doctor [--json] [--require LIST], LIST of " + known);
        return 2;
      }
    }
    for (String name : required) {
      if (!known.contains(name)) {
        err.println("doctor: nothing called '" + name + "' can be required; known: " + known);
        return 2;
      }
    }
    Doctor doctor = new Doctor(sections);
    doctor.examine();
    out.print(json ? Json.write(doctor.report) : DoctorText.write(doctor.report));
    out.flush();
    return doctor.judge(required, err);
  }

  private static List<DoctorSection> allSections() {
    List<DoctorSection> sections = new ArrayList<>();
    sections.add(new SystemSection());
    for (NativeLibrary library : NativeLibrary.all()) {
      sections.add(LibrarySection.of(library));
    }
    sections.add(new NvtxSection());
    sections.add(new DuplicatesSection());
    return sections;
  }

  private void examine() {
    for (DoctorSection section : sections) {
      FutureTask<Map<String, Object>> task = new FutureTask<>(section::examine);
      Thread thread = new DaemonThread(task, "doctor-" + section.name());
      try {
        thread.start();
        Map<String, Object> findings = task.get(SECTION_DEADLINE.toMillis(), TimeUnit.MILLISECONDS);
        report.put(section.name(), findings);
        problems.put(section.name(), section.shortcomings(findings));
      } catch (OutOfMemoryError e) {
        fail(section, String.valueOf(e));
      } catch (ExecutionException e) {
        fail(section, String.valueOf(e.getCause()));
      } catch (TimeoutException e) {
        fail(section, "no answer within " + SECTION_DEADLINE.toSeconds() + " s");
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        fail(section, "interrupted");
      }
    }
  }

  private void fail(DoctorSection section, String problem) {
    Map<String, Object> findings = new LinkedHashMap<>();
    findings.put("error", problem);
    report.put(section.name(), findings);
    problems.put(section.name(), List.of(problem));
  }

  private int judge(Set<String> required, PrintStream err) {
    int code = 0;
    for (String name : required) {
      for (String problem : problems.get(name)) {
        err.println("doctor: " + name + " does not work: " + problem);
        code = 1;
      }
    }
    return code;
  }
}
