package org.metrale.gpu.nvml;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.stream.Stream;
import org.metrale.gpu.Allocation;
import org.metrale.gpu.GpuException;

/** Runs one part of the layer in a JVM of its own and prints what it saw. */
public final class NvmlBehaviourProbe {
  private NvmlBehaviourProbe() {}

  /** Takes the name of the part. */
  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "session" -> session();
      case "drain" -> drain();
      case "threads" -> threads();
      case "failure" -> failure();
      case "events" -> events();
      case "gpm" -> gpm();
      case "lost" -> lost();
      case "sampler" -> sampler();
      case "allocation" -> allocation();
      case "absent" -> absent();
      case "processes" -> processes();
      case "cuda" -> cuda();
      case "closing" -> closing();
      case "claimed" -> claimed();
      case "memory" -> memory();
      default -> throw new IllegalArgumentException(arguments[0]);
    }
  }

  private static void session() {
    Nvml first = Nvml.open();
    Nvml second = Nvml.open();
    NvmlDevice device = first.device(0);
    NvmlEventSet set = NvmlEventSet.create(first);
    print("closeWithDependent", NvmlProbe.failure(first::close));
    print("stillUsable", first.deviceCount());
    set.close();
    set.close();
    print("closedSet", NvmlProbe.failure(() -> set.register(device, Set.of(NvmlEventType.XID))));
    first.close();
    first.close();
    print("afterClose", NvmlProbe.failure(first::deviceCount));
    print("deviceAfterClose", NvmlProbe.failure(device::uuid));
    print("samplerAfterClose", NvmlProbe.failure(() -> startAndClose(device)));
    print("setAfterClose", NvmlProbe.failure(() -> NvmlEventSet.create(first).close()));
    print("otherSession", second.deviceCount());
    second.close();
    try (Nvml third = Nvml.open()) {
      print("openedAgain", third.deviceCount());
    }
  }

  private static void startAndClose(NvmlDevice device) {
    NvmlSampler.start(device, NvmlSamplerSettings.standard("x")).close();
  }

  /** A call that takes long runs while the session is closed. */
  private static void drain() throws Exception {
    Nvml session = Nvml.open();
    NvmlDevice device = session.device(0);
    CountDownLatch begun = new CountDownLatch(1);
    AtomicReference<Object> answer = new AtomicReference<>("nothing");
    Thread reader =
        new Thread(
            () -> {
              begun.countDown();
              answer.set(device.pcie().sentKilobytesPerSecond());
            });
    reader.start();
    begun.await();
    TimeUnit.MILLISECONDS.sleep(200);
    session.close();
    reader.join(TimeUnit.SECONDS.toMillis(20));
    print("answer", NvmlProbe.text(answer.get()));
    print("afterwards", NvmlProbe.failure(device::uuid));
  }

  /** Threads that read whichever session is the newest, while it is opened and closed. */
  private static void threads() throws Exception {
    AtomicReference<NvmlDevice> newest = new AtomicReference<>();
    AtomicBoolean over = new AtomicBoolean();
    LongAdder read = new LongAdder();
    LongAdder closed = new LongAdder();
    Set<String> wrong = ConcurrentHashMap.newKeySet();
    Runnable reader =
        () -> {
          while (!over.get()) {
            try {
              NvmlDevice device = newest.get();
              if (device != null) {
                device.uuid().orElseThrow();
                read.increment();
              }
            } catch (IllegalStateException e) {
              closed.increment();
            } catch (RuntimeException e) {
              wrong.add(e.toString());
            }
          }
        };
    List<Thread> readers = Stream.generate(() -> new Thread(reader)).limit(4).toList();
    readers.forEach(Thread::start);
    for (int i = 0; i < 100; i++) {
      try (Nvml session = Nvml.open()) {
        newest.set(session.device(0));
        long before = read.sum();
        while (read.sum() < before + 50 && wrong.isEmpty()) {
          Thread.onSpinWait();
        }
      }
    }
    over.set(true);
    for (Thread thread : readers) {
      thread.join(TimeUnit.SECONDS.toMillis(20));
    }
    print("wrong", wrong);
    print("enough", read.sum() >= 5000);
    print("met closed sessions", closed.sum() > 0);
  }

  private static void failure() {
    for (int attempt = 1; attempt <= 2; attempt++) {
      try (Nvml session = Nvml.open()) {
        print("opened", session.deviceCount());
      } catch (NvmlException e) {
        print("failed", e.getMessage());
      }
    }
    Optional<GpuException> cause = NvmlLibrary.failureCause();
    print("cause", cause.map(Throwable::getMessage).orElse("none"));
    print("available", NvmlLibrary.isAvailable());
    print("version", NvmlLibrary.version().isPresent());
    print("supports", NvmlLibrary.supports("nvmlDeviceGetName"));
  }

  private static void events() throws Exception {
    try (Nvml session = Nvml.open();
        NvmlEventSet set = NvmlEventSet.create(session)) {
      NvmlDevice device = session.device(0);
      print("nothing", set.await(Duration.ZERO));
      set.register(device, Set.of(NvmlEventType.XID, NvmlEventType.CLOCK));
      set.register(session.device(1), Set.of(NvmlEventType.POWER_SOURCE));
      for (int i = 0; i < 3; i++) {
        NvmlEvent event = set.await(Duration.ofSeconds(20)).orElseThrow();
        int deviceIndex = event.device().identity().deviceIndex().orElseThrow().intValue();
        print("event", deviceIndex + " " + event.type().orElseThrow() + " " + event.data());
      }
      long begin = System.nanoTime();
      print("late", set.await(Duration.ofMillis(120)));
      long waitedMillis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begin);
      print("waited", waitedMillis >= 120 && waitedMillis < 5000);
      print(
          "unsupported",
          NvmlProbe.failure(() -> set.register(device, Set.of(NvmlEventType.RECOVERY_ACTION))));
      print("negative", NvmlProbe.failure(() -> awaitQuietly(set)));
      interrupt(set);
    }
  }

  private static void awaitQuietly(NvmlEventSet set) {
    try {
      set.await(Duration.ofMillis(-1));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static void interrupt(NvmlEventSet set) throws Exception {
    AtomicReference<String> end = new AtomicReference<>("nothing");
    Thread waiting =
        new Thread(
            () -> {
              try {
                set.await(Duration.ofDays(100_000));
              } catch (InterruptedException e) {
                end.set("interrupted");
              }
            });
    waiting.start();
    TimeUnit.MILLISECONDS.sleep(100);
    print("closeWhileWaiting", NvmlProbe.failure(set::close));
    waiting.interrupt();
    waiting.join(TimeUnit.SECONDS.toMillis(10));
    print("waiter", end.get());
  }

  private static void gpm() {
    List<NvmlGpmMetric> wanted =
        List.of(
            NvmlGpmMetric.GRAPHICS_PERCENT,
            NvmlGpmMetric.SM_PERCENT,
            NvmlGpmMetric.SM_OCCUPANCY_PERCENT,
            NvmlGpmMetric.INTEGER_PERCENT,
            NvmlGpmMetric.TENSOR_PERCENT,
            NvmlGpmMetric.DRAM_BANDWIDTH_PERCENT,
            NvmlGpmMetric.FP64_PERCENT,
            NvmlGpmMetric.FP32_PERCENT,
            NvmlGpmMetric.FP16_PERCENT,
            NvmlGpmMetric.PCIE_SENT_MEBIBYTES_PER_SECOND,
            NvmlGpmMetric.PCIE_RECEIVED_MEBIBYTES_PER_SECOND,
            NvmlGpmMetric.NVLINK_RECEIVED_MEBIBYTES_PER_SECOND,
            NvmlGpmMetric.NVLINK_SENT_MEBIBYTES_PER_SECOND,
            new NvmlGpmMetric(33, "videoDecoder3Percent"));
    try (Nvml session = Nvml.open();
        NvmlGpm gpm = NvmlGpm.open(session.device(0))) {
      print("first", NvmlProbe.text(gpm.take(wanted).get(NvmlGpmMetric.SM_PERCENT)));
      for (int i = 0; i < 3; i++) {
        StringBuilder line = new StringBuilder();
        for (Map.Entry<NvmlGpmMetric, NvmlReading<Double>> entry : gpm.take(wanted).entrySet()) {
          line.append(entry.getKey().name()).append(' ');
          line.append(NvmlProbe.text(entry.getValue())).append("; ");
        }
        print("take", line);
      }
      print("none", NvmlProbe.failure(() -> gpm.take(List.of())));
    }
  }

  private static void lost() throws Exception {
    Path config = Path.of(System.getenv("METRALE_EMULATOR_CONFIG"));
    String before = Files.readString(config);
    NvmlSamplerSettings quick =
        new NvmlSamplerSettings(Duration.ofMillis(10), Duration.ofMillis(20), "lost");
    try (Nvml session = Nvml.open();
        NvmlSampler sampler = NvmlSampler.start(session.device(0), quick)) {
      NvmlSamplerTest.await(() -> sampler.state() == NvmlSamplerState.AVAILABLE);
      NvmlSamplerTest.await(() -> sampler.latest().has(NvmlMetric.ACTIVE_NVLINKS));
      print("power", sampler.latest().value(NvmlMetric.POWER_MILLIWATTS));
      long energy = sampler.latest().energySinceStartMillijoules();
      replace(config, before + "nvml.gpu0.lost = 1\n");
      NvmlSamplerTest.await(() -> sampler.state() == NvmlSamplerState.FAILING);
      // A slow sample that was being taken has the values from before.
      NvmlSamplerTest.await(
          () -> Arrays.stream(NvmlMetric.values()).noneMatch(sampler.latest()::has));
      NvmlSample lost = sampler.latest();
      for (NvmlMetric metric : NvmlMetric.values()) {
        print("lost", metric + " " + NvmlProbe.text(lost.reading(metric)));
      }
      print("counted", lost.errors(NvmlMetric.POWER_MILLIWATTS) > 0);
      print("reading", NvmlProbe.text(session.device(1).uuid()).startsWith("GPU-"));
      replace(config, before);
      NvmlSamplerTest.await(() -> sampler.latest().has(NvmlMetric.POWER_MILLIWATTS));
      NvmlSamplerTest.await(() -> sampler.state() == NvmlSamplerState.AVAILABLE);
      print("back", sampler.latest().value(NvmlMetric.POWER_MILLIWATTS));
      print("energyGoesOn", sampler.latest().energySinceStartMillijoules() >= energy);
    }
  }

  /** By renaming: the emulator must not read a file that is half written. */
  private static void replace(Path config, String text) throws Exception {
    Path other = Files.writeString(config.resolveSibling(config.getFileName() + ".new"), text);
    Files.move(other, config, StandardCopyOption.ATOMIC_MOVE);
  }

  private static void sampler() {
    try (Nvml session = Nvml.open();
        NvmlSampler sampler =
            NvmlSampler.start(session.device(1), NvmlSamplerSettings.standard("emulated"))) {
      NvmlSamplerTest.await(() -> sampler.latest().sequence() > 1);
      NvmlSamplerTest.await(() -> sampler.latest().code(NvmlMetric.COMPUTE_PROCESSES) != 21);
      NvmlSample sample = sampler.latest();
      for (NvmlMetric metric : NvmlMetric.values()) {
        print(metric.toString(), NvmlProbe.text(sample.reading(metric)));
      }
      print("source", sample.memorySource());
      print("closeSession", NvmlProbe.failure(session::close));
    }
  }

  /** Bytes that a thread allocates in a thousand samples, publication and reading included. */
  private static void allocation() throws Exception {
    try (Nvml session = Nvml.open()) {
      NvmlSampling sampling =
          new NvmlSampling(
              new NvmlDeviceSource(session.device(0)),
              NvmlSamplerSettings.standard("allocation"),
              NvmlSamplerClock.SYSTEM);
      long[] sum = new long[1];
      sampling.addListener(sample -> sum[0] += sample.value(NvmlMetric.POWER_MILLIWATTS));
      NvmlSample read = new NvmlSample();
      long allocated =
          Allocation.fewest(
              8,
              () -> {
                for (int i = 0; i < 1000; i++) {
                  sampling.sample();
                  sampling.read(read);
                }
              });
      print("bytes", allocated);
      print("read", read.value(NvmlMetric.POWER_MILLIWATTS));
      print("told", sum[0] == 8000 * read.value(NvmlMetric.POWER_MILLIWATTS));
    }
  }

  /** The library has nothing but the start and the end of a session. */
  private static void absent() {
    try (Nvml session = Nvml.open()) {
      print("count", NvmlProbe.failure(session::deviceCount));
      print("driver", NvmlProbe.failure(session::driverVersion));
      NvmlDevice device = new NvmlDevice(session, 4711);
      int absent = 0;
      for (NvmlQuery query : NvmlQuery.values()) {
        NvmlResult result = device.query(query, 0).result();
        absent += result.equals(NvmlResult.FUNCTION_NOT_FOUND) ? 1 : 0;
      }
      print("queries", absent == NvmlQuery.values().length);
      for (NvmlTextQuery query : NvmlTextQuery.values()) {
        print("text", NvmlProbe.text(device.text(query)));
      }
      print("processes", NvmlProbe.text(device.processes(NvmlProcessKind.MPS)));
      print("clocks", NvmlProbe.text(device.clocks().supportedMemoryMegahertz()));
      print("fabric", NvmlProbe.text(device.fabric()));
      print("memory", NvmlProbe.text(device.memory()));
      print("events", NvmlProbe.failure(() -> NvmlEventSet.create(session).close()));
      print("gpm", NvmlProbe.failure(() -> NvmlGpm.open(device).close()));
      try (NvmlSampler sampler =
          NvmlSampler.start(device, NvmlSamplerSettings.standard("absent"))) {
        NvmlSamplerTest.await(() -> sampler.state() == NvmlSamplerState.FAILING);
        print("power", NvmlProbe.text(sampler.latest().reading(NvmlMetric.POWER_MILLIWATTS)));
        print("errors", sampler.latest().errors(NvmlMetric.POWER_MILLIWATTS));
      }
    }
  }

  /** More processes than there is room for at first. */
  private static void processes() {
    try (Nvml session = Nvml.open()) {
      List<NvmlProcess> all = session.device(0).processes(NvmlProcessKind.COMPUTE).orElseThrow();
      print("count", all.size());
      print("last", all.get(all.size() - 1));
    }
  }

  /** The session is closed while a factory is inside NVML. */
  private static void closing() throws Exception {
    Nvml events = Nvml.open();
    print("events", closedInside(events, () -> NvmlEventSet.create(events).close()));
    Nvml gpm = Nvml.open();
    NvmlDevice device = gpm.device(0);
    print("gpm", closedInside(gpm, () -> NvmlGpm.open(device).close()));
  }

  private static String closedInside(Nvml session, Runnable factory) throws Exception {
    AtomicReference<String> end = new AtomicReference<>("nothing");
    Thread making =
        new Thread(
            () -> {
              try {
                factory.run();
                end.set("made");
              } catch (IllegalStateException e) {
                end.set(e.getMessage() + " " + List.of(e.getSuppressed()));
              }
            });
    making.start();
    TimeUnit.MILLISECONDS.sleep(500);
    session.close();
    making.join(TimeUnit.SECONDS.toMillis(20));
    return end.get();
  }

  /** A library that claims to have written more than it was given room for. */
  private static void claimed() {
    try (Nvml session = Nvml.open()) {
      NvmlReading<List<NvmlProcess>> all = session.device(0).processes(NvmlProcessKind.COMPUTE);
      print("processes", all.map(List::size));
      print("goesOn", session.device(0).uuid().orElseThrow().startsWith("GPU-"));
    }
  }

  private static void memory() {
    try (Nvml session = Nvml.open()) {
      NvmlDevice device = session.device(0);
      java.util.function.Supplier<NvmlMemory> cuda =
          () -> NvmlMemory.ofCuda(device.isUnified(), 3L << 30, 1L << 30);
      print("alone", NvmlProbe.text(device.memory().map(NvmlMemory::source)));
      print("withCuda", device.memory(cuda));
    }
  }

  private static void cuda() {
    org.metrale.gpu.cuda.CudaDriver.initialize();
    try (Nvml session = Nvml.open()) {
      for (org.metrale.gpu.cuda.CudaDevice device : org.metrale.gpu.cuda.CudaDriver.devices()) {
        NvmlDevice found = session.cudaDevice(device);
        print(
            "cuda",
            device.uuid().equals(uuid(found)) + " " + found.mig().isMigDevice().orElseThrow());
      }
    }
  }

  private static java.util.UUID uuid(NvmlDevice device) {
    return java.util.UUID.fromString(device.uuid().orElseThrow().substring("GPU-".length()));
  }

  private static void print(String key, Object value) {
    System.out.println(key + "=" + value);
  }
}
