package org.metrale.gpu.cufile;

import com.google.errorprone.annotations.MustBeClosed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import org.metrale.gpu.Backoff;
import org.metrale.gpu.GpuException;
import org.metrale.gpu.LeavableCall;
import org.metrale.gpu.NativeResource;

/**
 * Many transfers given to cuFile at once.
 *
 * <p>Without cuFile they are made one after the other when they are submitted, and their events
 * wait to be taken.
 *
 * <p><b>Ownership:</b> keeps its driver open, and files and buffers until their events are taken.
 * Closing is refused while transfers are open: take their events, or cancel first.
 *
 * <p><b>Threading:</b> one caller at a time.
 */
public final class CuFileBatch extends NativeResource {
  private static final int EIGHT = 8;

  /** cuFile's wait cannot be interrupted, so it is asked to wait in slices. */
  private static final long SLICE_NANOS = 50_000_000;

  /** How much longer than it was told a look may take before it counts as not returning. */
  private static final long GRACE_NANOS = 1_000_000_000;

  private final CuFileDriver driver;
  private final int capacity;

  /** cuFile's batch and its two arrays; 0 without cuFile. */
  private final long batch;

  private final long requests;
  private final long events;
  private final BatchBook book = new BatchBook();

  /**
   * A submission that was given up waiting for; the array of requests is its own until it is over.
   */
  private Submission running;

  /** A look for events whose answer nobody has taken yet. */
  private LeavableCall<Integer> looking;

  private CuFileBatch(CuFileDriver driver, int capacity, long batch) {
    super(driver);
    this.driver = driver;
    this.capacity = capacity;
    this.batch = batch;
    this.requests =
        batch == 0
            ? 0
            : CuFileCalls.allocate((long) capacity * CuFileCalls.batchRequestBytes(), EIGHT);
    this.events =
        batch == 0
            ? 0
            : CuFileCalls.allocate((long) capacity * CuFileCalls.batchEventBytes(), EIGHT);
  }

  /** One request as the shim takes it. */
  record Entry(
      long handle,
      boolean write,
      long base,
      long lengthBytes,
      long fileOffsetBytes,
      long baseOffsetBytes,
      long cookie) {}

  /** A call of cuFile and what it submits. */
  private record Submission(LeavableCall<Object> task, List<Long> cookies) {}

  /**
   * One transfer.
   *
   * @param file the file
   * @param write true to write, false to read
   * @param buffer registered memory
   * @param bufferOffsetBytes where in the buffer
   * @param fileOffsetBytes where in the file
   * @param lengthBytes how many bytes
   */
  public record Request(
      CuFileHandle file,
      boolean write,
      CuFileBuffer buffer,
      long bufferOffsetBytes,
      long fileOffsetBytes,
      long lengthBytes) {
    /**
     * Checks the ranges.
     *
     * @param file the file
     * @param write true to write, false to read
     * @param buffer registered memory
     * @param bufferOffsetBytes where in the buffer
     * @param fileOffsetBytes where in the file
     * @param lengthBytes how many bytes
     * @throws IndexOutOfBoundsException if a range is not inside its buffer, or no range of a file
     */
    public Request {
      Objects.checkFromIndexSize(bufferOffsetBytes, lengthBytes, buffer.memory().lengthBytes());
      CuFileHandle.requireOffset(fileOffsetBytes, lengthBytes);
    }
  }

  /** What became of a transfer: {@code CUfileStatus_t}, known to this build or not. */
  public record Status(int value) {
    /** Done. */
    public static final Status COMPLETE = new Status(0x10);

    /** Cancelled before it was done. */
    public static final Status CANCELED = new Status(0x08);

    /** Could not be done. */
    public static final Status FAILED = new Status(0x40);

    /**
     * The constant's name in the header.
     *
     * @return for example {@code CUFILE_COMPLETE}
     */
    public String symbol() {
      return switch (value) {
        case 0x01 -> "CUFILE_WAITING";
        case 0x02 -> "CUFILE_PENDING";
        case 0x04 -> "CUFILE_INVALID";
        case 0x08 -> "CUFILE_CANCELED";
        case 0x10 -> "CUFILE_COMPLETE";
        case 0x20 -> "CUFILE_TIMEOUT";
        case 0x40 -> "CUFILE_FAILED";
        default -> "CUfileStatus(" + value + ")";
      };
    }
  }

  /**
   * The end of one transfer.
   *
   * @param request what was asked
   * @param status what became of it
   * @param transfer what was done, if it is complete
   * @param problem why it failed, if cuFile or the file system said
   */
  public record Event(
      Request request,
      Status status,
      Optional<CuFileTransfer> transfer,
      Optional<GpuException> problem) {}

  /**
   * Makes a batch.
   *
   * @param driver the driver
   * @param capacity how many transfers may be open at once, 1 to 4096
   * @return the batch; close it
   * @throws CuFileException if cuFile refuses, or has not returned within {@link
   *     CuFileOptions#callTimeout()}
   * @throws IllegalArgumentException if the capacity is out of range
   * @wraps {@code cuFileBatchIOSetUp}; cufile.h, cuFile 1.2 and later
   */
  @MustBeClosed
  public static CuFileBatch create(CuFileDriver driver, int capacity) {
    if (capacity < 1 || capacity > 4096) {
      throw new IllegalArgumentException("capacity " + capacity + " is not within 1 to 4096");
    }
    long batch =
        driver.isCuFileOpen()
            ? driver.call(
                "cuFileBatchIOSetUp",
                CuFileException.Where.note("entries=" + capacity),
                () -> CuFileCalls.cuFileBatchIOSetUp(capacity),
                CuFileCalls::cuFileBatchIODestroy)
            : 0;
    try {
      return new CuFileBatch(driver, capacity, batch);
    } catch (RuntimeException | Error e) {
      if (batch != 0) {
        CuFileCalls.cuFileBatchIODestroy(batch);
      }
      throw e;
    }
  }

  /**
   * Submits transfers.
   *
   * <p>What cuFile refuses while others of the same call have begun is an event that says so. If
   * this throws and some have begun, or may have, an event comes for each of them; else for none.
   *
   * <p><b>Blocking:</b> at most {@link CuFileOptions#transferTimeout()} a context of the memory,
   * and for each transfer that goes without cuFile.
   *
   * @param transfers what to do, at most as many as there is room for
   * @throws CuFileException if cuFile refuses them and none has begun, or with {@link
   *     CuFileException#isUnfinished()} if it has not returned in time
   * @throws IllegalStateException if there is no room for them, or an earlier call of cuFile has
   *     not returned yet
   * @wraps {@code cuFileBatchIOSubmit}; cufile.h, cuFile 1.2 and later
   */
  public void submit(List<Request> transfers) {
    if (book.open() + transfers.size() > capacity) {
      throw new IllegalStateException(
          this + " has room for " + (capacity - book.open()) + ", not for " + transfers.size());
    }
    acquire();
    try {
      requireIdle();
      List<Long> cookies = new ArrayList<>();
      Set<Long> handed = new HashSet<>();
      try {
        submit(transfers, cookies, handed);
      } catch (RuntimeException | Error e) {
        book.giveUp(cookies, handed, e instanceof GpuException problem ? problem : null);
        throw e;
      }
    } finally {
      release();
    }
  }

  /**
   * Takes the events of transfers that are over.
   *
   * <p><b>Blocking:</b> at most {@code timeout}, or until the thread is interrupted.
   *
   * @param atLeast how many to wait for
   * @param timeout how long to wait at most
   * @return their events, fewer than asked for if the time ended first
   * @throws InterruptedException if the thread was interrupted while it waited; no event is lost
   * @throws CuFileException if cuFile refuses
   * @throws IllegalStateException if an earlier call of cuFile has not returned yet and there is no
   *     event of a transfer that was not part of it
   * @wraps {@code cuFileBatchIOGetStatus}; cufile.h, cuFile 1.2 and later
   */
  public List<Event> poll(int atLeast, Duration timeout) throws InterruptedException {
    acquire();
    try {
      if (book.events() == 0) {
        requireIdle();
      }
      if (batch != 0 && isIdle()) {
        long most = Long.MAX_VALUE / 4;
        collect(atLeast, System.nanoTime() + Math.min(Backoff.nanos(timeout), most));
      }
      return book.takeEvents();
    } finally {
      release();
    }
  }

  /**
   * Cancels what is not done yet; events still come for it.
   *
   * <p><b>Blocking:</b> at most {@link CuFileOptions#transferTimeout()}.
   *
   * @throws CuFileException if cuFile refuses, or has not returned in time
   * @wraps {@code cuFileBatchIOCancel}; cufile.h, cuFile 1.2 and later
   */
  public void cancel() {
    acquire();
    try {
      if (batch != 0) {
        LeavableCall<Object> task =
            begin(
                () -> {
                  CuFileCalls.cuFileBatchIOCancel(batch);
                  return null;
                });
        finish(task, "cuFileBatchIOCancel");
      }
    } finally {
      release();
    }
  }

  /**
   * How many transfers have no event taken yet.
   *
   * @return their number
   */
  public int openTransfers() {
    return book.open();
  }

  @Override
  protected void closeOwn() {
    if (book.open() > 0) {
      throw new IllegalStateException(this + " has " + book.open() + " transfers open");
    }
  }

  /**
   * Ends the batch.
   *
   * @throws CuFileException if that is not over within {@link CuFileOptions#callTimeout()}; the
   *     driver stays open then until it is
   */
  @Override
  protected void free() {
    if (batch != 0) {
      driver.end(
          "cuFileBatchIODestroy",
          CuFileException.Where.note("entries=" + capacity),
          () -> {
            CuFileCalls.cuFileBatchIODestroy(batch);
            CuFileCalls.free(requests);
            CuFileCalls.free(events);
          });
    }
  }

  @Override
  public String toString() {
    return "cuFile batch of " + capacity;
  }

  /**
   * Submits, contexts one after the other.
   *
   * @param cookies gets the cookies of all transfers
   * @param handed gets those that cuFile may work on
   */
  private void submit(List<Request> transfers, List<Long> cookies, Set<Long> handed) {
    Map<Long, List<Long>> byContext = new LinkedHashMap<>();
    List<Long> without = new ArrayList<>();
    for (Request request : transfers) {
      long cookie = book.note(request);
      cookies.add(cookie);
      if (batch == 0 || request.file().route() == CuFileRoute.POSIX) {
        without.add(cookie);
      } else {
        long context = request.buffer().memory().contextAddress();
        byContext.computeIfAbsent(context, key -> new ArrayList<>()).add(cookie);
      }
    }
    for (Map.Entry<Long, List<Long>> group : byContext.entrySet()) {
      try {
        submit(group.getKey(), group.getValue(), handed);
      } catch (GpuException e) {
        if (running != null) {
          throw e;
        }
        group.getValue().forEach(handed::remove); // refused
        if (handed.isEmpty()) {
          throw e;
        }
        book.fail(group.getValue(), e);
      }
    }
    without.forEach(book::moveNow);
  }

  /** Submits transfers of one context, which is current for all of one call. */
  private void submit(long context, List<Long> cookies, Set<Long> handed) {
    int count = 0;
    for (long cookie : cookies) {
      CuFileCalls.batchRequest(requests, count++, entry(book.request(cookie), cookie));
    }
    int requested = count;
    LeavableCall<Object> task =
        begin(
            () -> {
              CuFileCalls.cuFileBatchIOSubmit(context, batch, requested, requests);
              return null;
            });
    running = new Submission(task, cookies);
    handed.addAll(cookies);
    finish(task, "cuFileBatchIOSubmit");
  }

  private <T> LeavableCall<T> begin(Supplier<T> call) {
    acquire();
    return driver.late().start(call, this::release, answer -> {});
  }

  private void finish(LeavableCall<Object> task, String call) {
    if (!task.awaitThroughInterrupts(driver.options().transferTimeout())) {
      throw CuFileException.unfinished(
          call,
          CuFileException.Where.note("entries=" + capacity),
          driver.options().transferTimeout(),
          task.elapsed());
    }
    if (running != null && running.task == task) {
      running = null;
    }
    task.answer();
  }

  /** Refuses what would use the arrays of a call that was given up waiting for. */
  private void requireIdle() {
    if (!isIdle()) {
      throw new IllegalStateException(this + ": a call of cuFile has not returned yet");
    }
  }

  /** Whether no submission runs; makes the events of one that was refused late. */
  private boolean isIdle() {
    if (running == null) {
      return true;
    }
    if (!running.task.isOver()) {
      return false;
    }
    Submission over = running;
    running = null;
    try {
      over.task.answer();
    } catch (GpuException e) {
      book.fail(over.cookies, e);
    }
    return true;
  }

  /** Looks once, then until there are enough events or the time is over. */
  private void collect(int atLeast, long deadline) throws InterruptedException {
    boolean looked = false;
    while (book.events() < book.open()) {
      long left = Math.max(0, deadline - System.nanoTime());
      if (looked && (left == 0 || book.events() >= atLeast)) {
        return;
      }
      look(Math.max(0, atLeast - book.events()), left);
      looked = true;
    }
  }

  private void look(int wanted, long leftNanos) throws InterruptedException {
    if (looking == null) {
      int most = book.open() - book.events();
      long slice = Math.min(leftNanos, SLICE_NANOS);
      looking =
          begin(
              () ->
                  CuFileCalls.cuFileBatchIOGetStatus(
                      batch, Math.min(wanted, most), most, events, slice));
    }
    Duration limit = Duration.ofNanos(leftNanos + GRACE_NANOS);
    if (!looking.await(limit)) {
      throw CuFileException.unfinished(
          "cuFileBatchIOGetStatus",
          CuFileException.Where.note("entries=" + capacity),
          limit,
          looking.elapsed());
    }
    LeavableCall<Integer> over = looking;
    looking = null;
    int count = over.answer();
    for (int i = 0; i < count; i++) {
      book.event(CuFileCalls.batchEvent(events, i));
    }
  }

  private static Entry entry(Request request, long cookie) {
    return new Entry(
        request.file().handle(),
        request.write(),
        request.buffer().memory().address(),
        request.lengthBytes(),
        request.fileOffsetBytes(),
        request.bufferOffsetBytes(),
        cookie);
  }
}
