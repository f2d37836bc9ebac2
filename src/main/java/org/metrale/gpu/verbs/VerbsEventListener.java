package org.metrale.gpu.verbs;

import com.google.errorprone.annotations.MustBeClosed;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.metrale.gpu.DaemonThread;
import org.metrale.gpu.NativeResource;

/**
 * Tells of a device's asynchronous events, on a daemon thread of its own.
 *
 * <p>Each event is acknowledged before it is told, so that a listener may close what it is about.
 *
 * <p><b>Threading:</b> the listener is called by one thread, one event after the other. What it
 * throws is logged. One listener a device: each event is told once.
 *
 * <p><b>Cleanup:</b> {@link #close()} waits until the listener has returned, three seconds at most,
 * unless the listener itself calls it; afterwards nothing more is told.
 */
public final class VerbsEventListener extends NativeResource {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.verbs");

  /** How long a listener may take with an event when this is closed. */
  private static final Duration GOODBYE = Duration.ofSeconds(3);

  private final VerbsDevice device;
  private final Consumer<VerbsEvent> listener;
  private final int events;
  private final int wake;
  private final Thread thread;
  private volatile boolean closing;

  private VerbsEventListener(
      VerbsDevice device, Consumer<VerbsEvent> listener, int events, int wake) {
    super(device);
    this.device = device;
    this.listener = listener;
    this.events = events;
    this.wake = wake;
    this.thread = new DaemonThread(this::run, "events of " + device.name());
  }

  /**
   * Begins to listen.
   *
   * @param device the device; stays open until this is closed
   * @param listener what to call for each event
   * @return the listening; close it to end it
   * @throws VerbsException if the device refuses
   * @wraps {@code ibv_get_async_event}, {@code ibv_ack_async_event}; verbs.h
   */
  @MustBeClosed
  public static VerbsEventListener open(VerbsDevice device, Consumer<VerbsEvent> listener) {
    int events = device.with(VerbsWorkCalls::eventDescriptor);
    int wake = VerbsWorkCalls.createWake();
    VerbsEventListener out;
    try {
      out = new VerbsEventListener(device, listener, events, wake);
    } catch (RuntimeException | Error e) {
      VerbsWorkCalls.closeWake(wake);
      throw e;
    }
    try {
      out.thread.start();
      return out;
    } catch (OutOfMemoryError e) {
      out.close();
      throw e;
    }
  }

  private void run() {
    try {
      while (!closing) {
        VerbsEvent event = device.with(VerbsWorkCalls::nextEvent);
        if (event == null) {
          VerbsWorkCalls.waitReadable(events, wake, -1);
        } else {
          tell(event);
        }
      }
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "no more events of " + device.name() + " are told", e);
    }
  }

  private void tell(VerbsEvent event) {
    try {
      listener.accept(event);
    } catch (RuntimeException | Error e) { // the events to come are told all the same
      LOG.log(Level.WARNING, "the listener failed on " + event + " of " + device.name(), e);
    }
  }

  @Override
  protected void free() {
    closing = true;
    VerbsWorkCalls.wake(wake);
    boolean interrupted = false;
    long end = System.nanoTime() + GOODBYE.toNanos();
    long left = GOODBYE.toMillis();
    while (thread.isAlive() && !thread.equals(Thread.currentThread()) && left > 0) {
      try {
        thread.join(left);
      } catch (InterruptedException e) {
        interrupted = true;
      }
      left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    if (thread.isAlive() && !thread.equals(Thread.currentThread())) {
      // Its descriptor stays open: the thread will look at it once more.
      throw new IllegalStateException(this + " does not come to an end: its listener waits");
    }
    VerbsWorkCalls.closeWake(wake);
  }

  @Override
  public String toString() {
    return "event listener of " + device;
  }
}
