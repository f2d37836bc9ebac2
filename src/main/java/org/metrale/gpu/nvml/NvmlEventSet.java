package org.metrale.gpu.nvml;

import com.google.errorprone.annotations.MustBeClosed;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.metrale.gpu.CallLimit;
import org.metrale.gpu.NativeResource;

/**
 * Waits for events of the devices that were registered with it.
 *
 * <p><b>Threading:</b> safe for any number of threads; an event goes to one of those that wait.
 * Closing while a thread waits is refused: interrupt it, or let its time run out.
 */
public final class NvmlEventSet extends NativeResource {
  /** NVML's wait cannot be interrupted, so it is asked to wait in slices. */
  private static final int SLICE_MILLIS = 50;

  private static final int TYPE_OFFSET = 8;
  private static final int DATA_OFFSET = 16;
  private static final int GPU_INSTANCE_OFFSET = 24;
  private static final int COMPUTE_INSTANCE_OFFSET = 28;

  private final Nvml session;
  private final long set;

  /** Events of waits that were given up. */
  private final Queue<NvmlEvent> cameLate = new ConcurrentLinkedQueue<>();

  private NvmlEventSet(Nvml session, long set) {
    super(session);
    this.session = session;
    this.set = set;
  }

  /**
   * Makes an event set.
   *
   * @param session an open session
   * @return the set, to be closed before the session
   * @throws NvmlException if it cannot be made
   * @wraps {@code nvmlEventSetCreate}; nvml.h
   */
  @MustBeClosed
  public static NvmlEventSet create(Nvml session) {
    return session.call("nvmlEventSetCreate", "", () -> made(session), NvmlEventSet::close);
  }

  private static NvmlEventSet made(Nvml session) {
    long set = NvmlCalls.metrale_nvml_events_create();
    try {
      return new NvmlEventSet(session, set);
    } catch (IllegalStateException e) {
      freeAfter(e, set); // the session was closed meanwhile; its shutdown waits for this call
      throw e;
    }
  }

  /**
   * The types that a device can report.
   *
   * @param device the device
   * @return the types that this build knows
   * @wraps {@code nvmlDeviceGetSupportedEventTypes}; nvml.h
   */
  public static NvmlReading<Set<NvmlEventType>> supported(NvmlDevice device) {
    return device
        .query(NvmlQuery.SUPPORTED_EVENTS, 0)
        .reading(answer -> NvmlEventType.of(answer.value(0)));
  }

  /**
   * Begins to collect events of a device.
   *
   * @param device the device
   * @param types what to collect
   * @throws NvmlException if the device cannot report one of them (code 3)
   * @throws IllegalStateException if this set is closed
   * @wraps {@code nvmlDeviceRegisterEvents}; nvml.h
   */
  public void register(NvmlDevice device, Set<NvmlEventType> types) {
    long mask = NvmlEventType.mask(types);
    inSet(
        session.options().callTimeout(),
        new NvmlCallers.Call("nvmlDeviceRegisterEvents", device.place()),
        () -> {
          NvmlCalls.metrale_nvml_events_register(device.handle(), mask, set);
          return true;
        },
        nothing -> {});
  }

  /**
   * Waits for the next event.
   *
   * <p><b>Blocking:</b> until an event comes, the time is over or the thread is interrupted; the
   * last two are noticed within 50 ms.
   *
   * @param timeout how long at most; zero only looks
   * @return the event, or empty if none came in time
   * @throws InterruptedException if the thread is interrupted
   * @throws NvmlException if a device is lost (code 15) or the wait fails otherwise, or NVML does
   *     not end its wait; an event that it brings later is not lost
   * @throws IllegalStateException if this set is closed
   * @wraps {@code nvmlEventSetWait_v2}, else {@code nvmlEventSetWait}; nvml.h
   */
  public Optional<NvmlEvent> await(Duration timeout) throws InterruptedException {
    long deadline = System.nanoTime() + saturatedNanos(timeout);
    acquire();
    try {
      while (true) {
        if (Thread.interrupted()) {
          throw new InterruptedException("interrupted while waiting for NVML events");
        }
        NvmlEvent late = cameLate.poll();
        if (late != null) {
          return Optional.of(late);
        }
        long leftMillis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime() + 999_999);
        int slice = (int) Math.max(0, Math.min(leftMillis, SLICE_MILLIS));
        Optional<NvmlEvent> event = look(slice);
        if (event.isPresent() || System.nanoTime() - deadline >= 0) {
          return event;
        }
      }
    } finally {
      release();
    }
  }

  /** One wait of NVML; an event that it brings when nobody waits any more is for the next one. */
  private Optional<NvmlEvent> look(int sliceMillis) {
    Duration limit = session.options().callTimeout();
    return inSet(
        CallLimit.isLimited(limit) ? limit.plusMillis(sliceMillis) : limit,
        new NvmlCallers.Call("nvmlEventSetWait_v2", ""),
        () -> {
          NvmlScratch scratch = NvmlScratch.ofThread();
          return NvmlCalls.metrale_nvml_events_wait(set, sliceMillis, scratch)
              ? Optional.of(event(scratch.bytes()))
              : Optional.empty();
        },
        event -> event.ifPresent(cameLate::add));
  }

  /** Makes a call with this set, which stays open while it runs. */
  private <T> T inSet(
      Duration limit, NvmlCallers.Call call, Supplier<T> work, Consumer<? super T> late) {
    acquire();
    return session.call(limit, call, work, this::release, late);
  }

  @Override
  protected void free() {
    session.end("nvmlEventSetFree", "", () -> NvmlCalls.metrale_nvml_events_free(set));
  }

  @Override
  public String toString() {
    return "NVML event set";
  }

  private static void freeAfter(RuntimeException failure, long set) {
    try {
      NvmlCalls.metrale_nvml_events_free(set);
    } catch (NvmlException second) {
      failure.addSuppressed(second);
    }
  }

  private NvmlEvent event(ByteBuffer bytes) {
    return new NvmlEvent(
        new NvmlDevice(session, bytes.getLong(0)),
        bytes.getLong(TYPE_OFFSET),
        bytes.getLong(DATA_OFFSET),
        NvmlProcess.instance(bytes.getInt(GPU_INSTANCE_OFFSET)),
        NvmlProcess.instance(bytes.getInt(COMPUTE_INSTANCE_OFFSET)));
  }

  private static long saturatedNanos(Duration timeout) {
    if (timeout.isNegative()) {
      throw new IllegalArgumentException("timeout " + timeout + " is negative");
    }
    // Half the range, so that adding the time now cannot overflow.
    Duration most = Duration.ofNanos(Long.MAX_VALUE / 2);
    return timeout.compareTo(most) > 0 ? Long.MAX_VALUE / 2 : timeout.toNanos();
  }
}
