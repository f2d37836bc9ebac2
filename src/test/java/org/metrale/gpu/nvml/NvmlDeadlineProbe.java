package org.metrale.gpu.nvml;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/** Calls NVML where calls hang or are late, in a JVM of its own, and prints what it saw. */
public final class NvmlDeadlineProbe {
  private static final Duration SHORT = Duration.ofMillis(100);
  private static final NvmlOptions QUICK = NvmlOptions.defaults().withCallTimeout(SHORT);

  private NvmlDeadlineProbe() {}

  /** Takes the name of the part. Ends by itself whatever hangs. */
  public static void main(String[] arguments) throws Exception {
    switch (arguments[0]) {
      case "start" -> tell("open", () -> Nvml.open(new NvmlOptions(SHORT, SHORT)).close());
      case "end" -> end();
      case "session" -> session();
      case "device" -> device();
      case "objects" -> objects();
      case "many" -> many();
      case "late" -> late();
      case "lateObjects" -> lateObjects();
      case "lateEvent" -> lateEvent();
      case "forever" -> forever();
      case "sampler" -> sampler();
      case "slowSampler" -> slowSampler();
      default -> throw new IllegalArgumentException(arguments[0]);
    }
    print("ended", true);
  }

  private interface Call {
    Object call() throws Exception;
  }

  private interface Act {
    void act() throws Exception;
  }

  private static void ask(String key, Call call) {
    tell(key, () -> print(key, "answered " + call.call()));
  }

  /** What a call threw. */
  private static void tell(String key, Act act) {
    try {
      act.act();
    } catch (Exception e) {
      boolean unfinished = e instanceof NvmlException problem && problem.isUnfinished();
      print(key, (unfinished ? "unfinished " : "") + e.getMessage());
    }
  }

  private static void end() {
    Nvml session = Nvml.open(new NvmlOptions(SHORT, SHORT));
    tell("close", session::close);
    print("closed", session.isClosed());
  }

  private static void session() {
    Nvml session = Nvml.open(QUICK);
    ask("count", session::deviceCount);
    ask("byIndex", () -> session.device(1));
    ask("byUuid", () -> session.deviceByUuid("GPU-x"));
    ask("byPci", () -> session.deviceByPci("0000:3b:00.0"));
    ask("driver", session::driverVersion);
    ask("nvml", session::nvmlVersion);
    ask("process", () -> session.processName(1));
    tell("close", session::close);
    print("calls", Nvml.unfinishedCalls());
    print("sessions", Nvml.unfinishedSessions());
    try (Nvml next = Nvml.open(QUICK)) {
      // The second call of it, which the fault leaves alone.
      print("next", next.deviceCount());
    }
  }

  private static void device() {
    Nvml session = Nvml.open(QUICK);
    NvmlDevice device = session.device(0);
    session.driverVersion(); // fields ask for it
    ask("query", () -> device.power().usageMilliwatts());
    ask("text", device::uuid);
    ask("memory", device::memory);
    ask("processes", () -> device.processes(NvmlProcessKind.COMPUTE));
    ask("clocks", () -> device.clocks().supportedMemoryMegahertz());
    ask("graphicsClocks", () -> device.clocks().supportedGraphicsMegahertz(1593));
    ask("fabric", device::fabric);
    ask("fields", () -> device.fields(List.of(NvmlField.POWER_INSTANT_MILLIWATTS)));
    ask("migs", () -> device.mig().devices());
    ask("parent", () -> device.mig().parent());
    print("calls", Nvml.unfinishedCalls());
  }

  private static void objects() throws Exception {
    Nvml session = Nvml.open(QUICK);
    NvmlDevice device = session.device(0);
    NvmlEventSet set = NvmlEventSet.create(session);
    ask("create", () -> NvmlEventSet.create(session));
    ask("register", () -> registered(set, device));
    ask("wait", () -> set.await(Duration.ZERO));
    tell("closeSet", set::close);
    NvmlEventSet other = NvmlEventSet.create(session);
    tell("free", other::close);
    NvmlGpm gpm = NvmlGpm.open(device);
    ask("gpm", () -> NvmlGpm.open(device));
    ask("take", () -> gpm.take(List.of(NvmlGpmMetric.SM_PERCENT)));
    ask("takeAgain", () -> gpm.take(List.of(NvmlGpmMetric.SM_PERCENT)));
    NvmlGpm another = NvmlGpm.open(device);
    tell("freeGpm", another::close);
  }

  private static Object registered(NvmlEventSet set, NvmlDevice device) {
    set.register(device, Set.of(NvmlEventType.XID));
    return "registered";
  }

  /** More calls than threads may be left behind for. */
  private static void many() {
    Nvml session = Nvml.open(QUICK);
    NvmlDevice device = session.device(0);
    for (int i = 0; i < NvmlCallers.MOST_LATE + 2; i++) {
      ask("power", () -> device.power().usageMilliwatts());
    }
    print("calls", Nvml.unfinishedCalls());
  }

  /** One that comes back: what it writes is not taken for the answer of another. */
  private static void late() throws Exception {
    Nvml session = Nvml.open(QUICK);
    NvmlDevice device = session.device(0);
    ask("power", () -> device.power().usageMilliwatts());
    print("energy", NvmlProbe.text(device.power().energyMillijoules()));
    tell("close", session::close);
    print("calls", Nvml.unfinishedCalls());
    print("sessions", Nvml.unfinishedSessions());
    NvmlSamplerTest.await(() -> Nvml.unfinishedSessions() == 0 && Nvml.unfinishedCalls() == 0);
    print("afterwards", NvmlProbe.failure(device::uuid));
    try (Nvml next = Nvml.open(QUICK)) {
      print("next", NvmlProbe.text(next.device(0).power().usageMilliwatts()));
    }
  }

  /** What is made for nobody is ended again. */
  private static void lateObjects() {
    try (Nvml session = Nvml.open(QUICK)) {
      NvmlDevice device = session.device(0);
      ask("create", () -> NvmlEventSet.create(session));
      ask("gpm", () -> NvmlGpm.open(device));
      NvmlSamplerTest.await(() -> Nvml.unfinishedCalls() == 0);
    }
    tell("open", () -> Nvml.open(new NvmlOptions(SHORT, SHORT)).close());
    NvmlSamplerTest.await(() -> Nvml.unfinishedCalls() == 0);
  }

  /** A wait that was given up brings an event after all. */
  private static void lateEvent() throws Exception {
    try (Nvml session = Nvml.open(QUICK);
        NvmlEventSet set = NvmlEventSet.create(session)) {
      set.register(session.device(0), Set.of(NvmlEventType.XID));
      ask("wait", () -> set.await(Duration.ZERO));
      NvmlSamplerTest.await(() -> Nvml.unfinishedCalls() == 0);
      print("event", set.await(Duration.ofSeconds(20)).orElseThrow().data());
    }
  }

  /** Without a time the caller's own thread is inside NVML. */
  private static void forever() throws Exception {
    Thread caller = Thread.currentThread();
    AtomicBoolean inside = new AtomicBoolean();
    AtomicBoolean over = new AtomicBoolean();
    Thread looking =
        new Thread(
            () -> {
              while (!over.get() && !inside.get()) {
                for (StackTraceElement frame : caller.getStackTrace()) {
                  inside.compareAndSet(
                      false, frame.getMethodName().equals("metrale_nvml_query_one"));
                }
              }
            });
    NvmlOptions options = NvmlOptions.defaults().withCallTimeout(ChronoUnit.FOREVER.getDuration());
    try (Nvml session = Nvml.open(options)) {
      NvmlDevice device = session.device(0);
      looking.start();
      print("power", NvmlProbe.text(device.power().usageMilliwatts()));
      over.set(true);
      looking.join();
      print("inside", inside.get());
    }
  }

  /** The sampler's own thread is inside a call that does not return. */
  private static void sampler() {
    NvmlSamplerSettings quick =
        new NvmlSamplerSettings(Duration.ofMillis(10), Duration.ofMillis(20), "stuck");
    Nvml session = Nvml.open(QUICK);
    NvmlSampler sampler = NvmlSampler.start(session.device(0), quick);
    NvmlSamplerTest.await(() -> sampler.latest().sequence() > 0);
    AtomicReference<NvmlSample> told = new AtomicReference<>();
    NvmlSamplerTest.await(() -> sampler.state() == NvmlSamplerState.OVERDUE);
    sampler.addListener(told::set);
    NvmlSample sample = sampler.latest();
    print("overdue", sample.isOverdue());
    print("power", NvmlProbe.text(sample.reading(NvmlMetric.POWER_MILLIWATTS)));
    long sequence = sample.sequence();
    tell("close", sampler::close);
    print("state", sampler.state());
    tell("closeSession", session::close);
    print("sessions", Nvml.unfinishedSessions());
    try (Nvml next = Nvml.open(QUICK)) {
      print("next", next.device(0).uuid().orElseThrow().startsWith("GPU-"));
    }
    // The call returns in the end: it shuts its session down, and nobody is told of its sample.
    NvmlSamplerTest.await(() -> Nvml.unfinishedSessions() == 0);
    print("told", told.get());
    print("published", sampler.latest().sequence() - sequence);
  }

  /** What takes long to read hangs; the rest goes on. */
  private static void slowSampler() {
    NvmlSamplerSettings quick =
        new NvmlSamplerSettings(Duration.ofMillis(10), Duration.ofMillis(20), "slow");
    Nvml session = Nvml.open(QUICK);
    try (NvmlSampler sampler = NvmlSampler.start(session.device(0), quick)) {
      NvmlSamplerTest.await(() -> sampler.latest().code(NvmlMetric.COMPUTE_PROCESSES) == 10);
      NvmlSample sample = sampler.latest();
      print("sent", NvmlProbe.text(sample.reading(NvmlMetric.PCIE_SENT_KILOBYTES_PER_SECOND)));
      print("processes", NvmlProbe.text(sample.reading(NvmlMetric.COMPUTE_PROCESSES)));
      long before = sample.sequence();
      NvmlSamplerTest.await(() -> sampler.latest().sequence() > before);
      print("power", NvmlProbe.text(sampler.latest().reading(NvmlMetric.POWER_MILLIWATTS)));
      NvmlSamplerTest.await(() -> Nvml.unfinishedCalls() == NvmlCallers.MOST_LATE);
    }
    print("calls", Nvml.unfinishedCalls());
  }

  private static void print(String key, Object value) {
    System.out.println(key + "=" + value);
  }
}
