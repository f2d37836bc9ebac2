package org.metrale.gpu.nvtx;

import com.google.errorprone.annotations.MustBeClosed;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A part of the program whose ranges a tool shows together.
 *
 * <p>A domain lives as long as the process: a tool may hold what belongs to it at any time.
 *
 * <p><b>Threading:</b> safe for any number of threads.
 */
public final class NvtxDomain {
  private static final ConcurrentHashMap<String, NvtxDomain> DOMAINS = new ConcurrentHashMap<>();
  private static final int NAMES = Integer.getInteger("org.metrale.nvtx.names", 4096);
  private static final AtomicInteger MADE = new AtomicInteger();
  private static final NvtxDomain DEFAULT = new NvtxDomain("", 0);

  // Numbers of nvtxPayloadType_t; 0 is none.
  private static final int PAYLOAD_LONG = 2;
  private static final int PAYLOAD_DOUBLE = 3;

  private final String name;
  private final long handle;

  /** Tells domains apart at no cost for the collector, whatever their handles are. */
  private final int number = MADE.getAndIncrement();

  private final ConcurrentHashMap<String, NvtxName> names = new ConcurrentHashMap<>();

  /** What a tool is told for a name, colour and category; bounded as the names are. */
  private final ConcurrentHashMap<NvtxName, Long> prepared = new ConcurrentHashMap<>();

  private final ConcurrentHashMap<String, NvtxCategory> categories = new ConcurrentHashMap<>();
  private final AtomicInteger registered = new AtomicInteger();
  private final AtomicInteger categoryNumbers = new AtomicInteger();

  private NvtxDomain(String name, long handle) {
    this.name = name;
    this.handle = handle;
  }

  /**
   * The domain of everything that has none of its own.
   *
   * @return the default domain, whose name is empty
   */
  public static NvtxDomain defaultDomain() {
    return DEFAULT;
  }

  /**
   * The domain of a name, made at first use.
   *
   * @param name what the tool shows, not empty
   * @return the same object for the same name
   * @throws IllegalArgumentException if the name is empty
   * @wraps {@code nvtxDomainCreateA}; nvToolsExt.h, NVTX 3
   */
  public static NvtxDomain of(String name) {
    if (name.isEmpty()) {
      throw new IllegalArgumentException("a domain needs a name");
    }
    return DOMAINS.computeIfAbsent(
        name,
        key ->
            new NvtxDomain(
                key, NvtxTool.ATTACHED ? NvtxCalls.nvtxDomainCreateA(NvtxText.bytes(key)) : 0));
  }

  /**
   * What the tool shows for this domain.
   *
   * @return the name, empty for the default domain
   */
  public String name() {
    return name;
  }

  /**
   * A category of this domain, made at first use.
   *
   * @param name what the tool shows
   * @return the same value for the same name
   * @wraps {@code nvtxDomainNameCategoryA}; nvToolsExt.h, NVTX 3
   */
  public NvtxCategory category(String name) {
    return categories.computeIfAbsent(name, this::nameCategory);
  }

  /**
   * A name to use for many ranges, registered with the tool at first use.
   *
   * @param name what the tool shows
   * @return the same object for the same name, up to the domain's limit of names
   * @wraps {@code nvtxDomainRegisterStringA}; nvToolsExt.h, NVTX 3
   */
  public NvtxName register(String name) {
    NvtxName known = names.get(Objects.requireNonNull(name, "name"));
    return known != null ? known : registerNew(name);
  }

  /**
   * How many names the domain has registered.
   *
   * @return at most {@code org.metrale.nvtx.names}; 0 without a tool
   */
  public int registeredNames() {
    return Math.min(registered.get(), NAMES);
  }

  /**
   * Begins a range on the calling thread.
   *
   * @param name what the tool shows
   * @return the range, to be closed by this thread
   * @wraps {@code nvtxDomainRangePushEx}; nvToolsExt.h, NVTX 3
   */
  @MustBeClosed
  public NvtxRange push(String name) {
    return NvtxTool.ON ? NvtxRange.open(register(name), 0, 0) : NvtxRange.OFF;
  }

  /**
   * Begins a range on the calling thread.
   *
   * @param name a name of this domain
   * @return the range, to be closed by this thread
   * @throws IllegalArgumentException if the name is of another domain; checked while a tool is
   *     attached
   * @wraps {@code nvtxDomainRangePushEx}; nvToolsExt.h, NVTX 3
   */
  @MustBeClosed
  public NvtxRange push(NvtxName name) {
    return NvtxTool.ON ? NvtxRange.open(own(name), 0, 0) : NvtxRange.OFF;
  }

  /**
   * Begins a range on the calling thread, with a number that the tool shows.
   *
   * @param name a name of this domain
   * @param payload the number
   * @return the range, to be closed by this thread
   * @throws IllegalArgumentException if the name is of another domain; checked while a tool is
   *     attached
   * @wraps {@code nvtxDomainRangePushEx}; nvToolsExt.h, NVTX 3
   */
  @MustBeClosed
  public NvtxRange push(NvtxName name, long payload) {
    return NvtxTool.ON ? NvtxRange.open(own(name), PAYLOAD_LONG, payload) : NvtxRange.OFF;
  }

  /**
   * Begins a range on the calling thread, with a number that the tool shows.
   *
   * @param name a name of this domain
   * @param payload the number
   * @return the range, to be closed by this thread
   * @throws IllegalArgumentException if the name is of another domain; checked while a tool is
   *     attached
   * @wraps {@code nvtxDomainRangePushEx}; nvToolsExt.h, NVTX 3
   */
  @MustBeClosed
  public NvtxRange push(NvtxName name, double payload) {
    return NvtxTool.ON
        ? NvtxRange.open(own(name), PAYLOAD_DOUBLE, Double.doubleToRawLongBits(payload))
        : NvtxRange.OFF;
  }

  /**
   * Runs an action inside a range.
   *
   * @param name what the tool shows
   * @param action what to run
   * @wraps {@code nvtxDomainRangePushEx}; nvToolsExt.h, NVTX 3
   */
  @SuppressWarnings("try") // the range is there to be closed
  public void run(String name, Runnable action) {
    try (NvtxRange range = push(name)) {
      action.run();
    }
  }

  /**
   * Runs an action inside a range.
   *
   * @param name a name of this domain
   * @param action what to run
   * @wraps {@code nvtxDomainRangePushEx}; nvToolsExt.h, NVTX 3
   */
  @SuppressWarnings("try") // the range is there to be closed
  public void run(NvtxName name, Runnable action) {
    try (NvtxRange range = push(name)) {
      action.run();
    }
  }

  /**
   * Runs an action that answers something inside a range.
   *
   * @param <T> what it answers
   * @param name what the tool shows
   * @param action what to run
   * @return the action's answer
   * @throws Exception what the action throws
   * @wraps {@code nvtxDomainRangePushEx}; nvToolsExt.h, NVTX 3
   */
  @SuppressWarnings("try") // the range is there to be closed
  public <T> T call(String name, Callable<T> action) throws Exception {
    try (NvtxRange range = push(name)) {
      return action.call();
    }
  }

  /**
   * Begins a span, which any thread may end.
   *
   * @param name what the tool shows
   * @return the span, to be closed by any thread
   * @wraps {@code nvtxDomainRangeStartEx}; nvToolsExt.h, NVTX 3
   */
  @MustBeClosed
  public NvtxSpan start(String name) {
    return NvtxTool.ON ? NvtxSpan.open(register(name), 0, 0) : NvtxSpan.OFF;
  }

  /**
   * Begins a span, which any thread may end, with a number that the tool shows.
   *
   * @param name a name of this domain
   * @param payload the number
   * @return the span, to be closed by any thread
   * @throws IllegalArgumentException if the name is of another domain; checked while a tool is
   *     attached
   * @wraps {@code nvtxDomainRangeStartEx}; nvToolsExt.h, NVTX 3
   */
  @MustBeClosed
  public NvtxSpan start(NvtxName name, long payload) {
    return NvtxTool.ON ? NvtxSpan.open(own(name), PAYLOAD_LONG, payload) : NvtxSpan.OFF;
  }

  /**
   * Marks one point in time.
   *
   * @param name what the tool shows
   * @wraps {@code nvtxDomainMarkEx}; nvToolsExt.h, NVTX 3
   */
  public void mark(String name) {
    if (NvtxTool.ATTACHED) {
      NvtxCalls.nvtxDomainMarkEx(register(name), 0, 0);
    }
  }

  /**
   * Marks one point in time, with a number that the tool shows.
   *
   * @param name a name of this domain
   * @param payload the number
   * @throws IllegalArgumentException if the name is of another domain; checked while a tool is
   *     attached
   * @wraps {@code nvtxDomainMarkEx}; nvToolsExt.h, NVTX 3
   */
  public void mark(NvtxName name, long payload) {
    if (NvtxTool.ATTACHED) {
      NvtxCalls.nvtxDomainMarkEx(own(name), PAYLOAD_LONG, payload);
    }
  }

  @Override
  public String toString() {
    return name.isEmpty() ? "default NVTX domain" : "NVTX domain " + name;
  }

  long handle() {
    return handle;
  }

  int number() {
    return number;
  }

  /**
   * The event of a registered name in native memory, the same for equal names; 0 if there is none.
   */
  long prepare(NvtxName name) {
    Long known = prepared.get(name);
    if (known != null) {
      return known;
    }
    // Its memory is never freed, since a thread may be using it; so there is an end to it.
    return prepared.size() >= NAMES ? 0 : prepared.computeIfAbsent(name, NvtxCalls::prepare);
  }

  private NvtxName own(NvtxName name) {
    if (name.domain() != this) {
      throw new IllegalArgumentException(name + " is of " + name.domain() + ", not of " + this);
    }
    return name;
  }

  private NvtxName registerNew(String name) {
    byte[] text = NvtxText.bytes(name);
    if (registered.get() >= NAMES || registered.incrementAndGet() > NAMES) {
      // A tool never forgets a registered name, so there is an end to them.
      return new NvtxName(this, name, text, 0);
    }
    long string = NvtxTool.ATTACHED ? NvtxCalls.nvtxDomainRegisterStringA(handle, text) : 0;
    NvtxName fresh = new NvtxName(this, name, text, string);
    NvtxName before = names.putIfAbsent(name, fresh);
    return before != null ? before : fresh;
  }

  private NvtxCategory nameCategory(String name) {
    int number = categoryNumbers.incrementAndGet();
    if (NvtxTool.ATTACHED) {
      NvtxCalls.nvtxDomainNameCategoryA(handle, number, NvtxText.bytes(name));
    }
    return new NvtxCategory(this, number, name);
  }
}
