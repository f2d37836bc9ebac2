package org.metrale.gpu.cufile;

import com.google.errorprone.annotations.MustBeClosed;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.metrale.gpu.GpuException;
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

  private final int capacity;

  /** cuFile's batch and its two arrays; 0 without cuFile. */
  private final long batch;

  private final long requests;
  private final long events;
  private final Map<Long, Pending> pending = new HashMap<>();

  /** Events of transfers that were made at once, by cookie. */
  private final Map<Long, Event> made = new LinkedHashMap<>();

  private long lastCookie;

  private CuFileBatch(CuFileDriver driver, int capacity, long batch) {
    super(driver);
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

  /** A transfer whose event was not taken. */
  private record Pending(Request request, CuFileHold hold) {}

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
   * @throws CuFileException if cuFile refuses
   * @throws IllegalArgumentException if the capacity is out of range
   * @wraps {@code cuFileBatchIOSetUp}; cufile.h, cuFile 1.2 and later
   */
  @MustBeClosed
  public static CuFileBatch create(CuFileDriver driver, int capacity) {
    if (capacity < 1 || capacity > 4096) {
      throw new IllegalArgumentException("capacity " + capacity + " is not within 1 to 4096");
    }
    return new CuFileBatch(
        driver, capacity, driver.isCuFileOpen() ? CuFileCalls.cuFileBatchIOSetUp(capacity) : 0);
  }

  /**
   * Submits transfers.
   *
   * @param transfers what to do, at most as many as there is room for
   * @throws CuFileException if cuFile refuses them
   * @throws IllegalStateException if there is no room for them
   * @wraps {@code cuFileBatchIOSubmit}; cufile.h, cuFile 1.2 and later
   */
  public void submit(List<Request> transfers) {
    if (pending.size() + transfers.size() > capacity) {
      throw new IllegalStateException(
          this + " has room for " + (capacity - pending.size()) + ", not for " + transfers.size());
    }
    acquire();
    try {
      List<Long> cookies = new ArrayList<>();
      boolean submitted = false;
      try {
        submit(transfers, cookies);
        submitted = true;
      } finally {
        if (!submitted) {
          cookies.forEach(this::take);
          cookies.forEach(made::remove);
        }
      }
    } finally {
      release();
    }
  }

  /**
   * Takes the events of transfers that are over.
   *
   * <p><b>Blocking:</b> at most {@code timeout}.
   *
   * @param atLeast how many to wait for
   * @param timeout how long to wait at most
   * @return their events, fewer than asked for if the time ended first
   * @throws CuFileException if cuFile refuses
   * @wraps {@code cuFileBatchIOGetStatus}; cufile.h, cuFile 1.2 and later
   */
  public List<Event> poll(int atLeast, Duration timeout) {
    acquire();
    try {
      List<Event> out = new ArrayList<>(made.values());
      made.keySet().forEach(this::take);
      made.clear();
      if (batch != 0 && !pending.isEmpty()) {
        int wanted = Math.max(0, Math.min(atLeast - out.size(), pending.size()));
        int count =
            CuFileCalls.cuFileBatchIOGetStatus(
                batch, wanted, pending.size(), events, timeout.toNanos());
        for (int i = 0; i < count; i++) {
          event(CuFileCalls.batchEvent(events, i)).ifPresent(out::add);
        }
      }
      return out;
    } finally {
      release();
    }
  }

  /**
   * Cancels what is not done yet; events still come for it.
   *
   * @throws CuFileException if cuFile refuses
   * @wraps {@code cuFileBatchIOCancel}; cufile.h, cuFile 1.2 and later
   */
  public void cancel() {
    acquire();
    try {
      if (batch != 0) {
        CuFileCalls.cuFileBatchIOCancel(batch);
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
    return pending.size();
  }

  @Override
  protected void closeOwn() {
    if (!pending.isEmpty()) {
      throw new IllegalStateException(this + " has " + pending.size() + " transfers open");
    }
  }

  @Override
  protected void free() {
    if (batch != 0) {
      CuFileCalls.cuFileBatchIODestroy(batch);
      CuFileCalls.free(requests);
      CuFileCalls.free(events);
    }
  }

  @Override
  public String toString() {
    return "cuFile batch of " + capacity;
  }

  @SuppressWarnings("MustBeClosed") // closed by take(), with the transfer's event
  private void submit(List<Request> transfers, List<Long> cookies) {
    int count = 0;
    for (Request request : transfers) {
      long cookie = ++lastCookie;
      CuFileHold hold = CuFileHold.open("batched transfer", request.file(), request.buffer());
      pending.put(cookie, new Pending(request, hold));
      cookies.add(cookie);
      if (batch == 0 || request.file().route() == CuFileRoute.POSIX) {
        made.put(cookie, now(request));
      } else {
        CuFileCalls.batchRequest(requests, count++, entry(request, cookie));
      }
    }
    if (count > 0) {
      long context = transfers.get(0).buffer().memory().contextAddress();
      CuFileCalls.cuFileBatchIOSubmit(context, batch, count, requests);
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

  private static Event now(Request request) {
    try {
      CuFileTransfer done =
          request
              .file()
              .moveHeld(
                  request.buffer(),
                  new CuFileOperation.Work(
                      request.write(),
                      request.lengthBytes(),
                      request.fileOffsetBytes(),
                      request.bufferOffsetBytes()));
      return new Event(request, Status.COMPLETE, Optional.of(done), Optional.empty());
    } catch (GpuException e) {
      return new Event(request, Status.FAILED, Optional.empty(), Optional.of(e));
    }
  }

  /** Empty for a transfer that is not over. */
  private Optional<Event> event(long[] words) {
    Status status = new Status((int) words[1]);
    Pending known = pending.get(words[0]);
    if (known == null || status.value() == 1 || status.value() == 2) {
      return Optional.empty();
    }
    take(words[0]);
    Request request = known.request();
    CuFileRoute route = request.file().route();
    long answer = words[2];
    if (status.equals(Status.COMPLETE) && answer >= 0) {
      CuFileTransfer done =
          new CuFileTransfer(answer, route, route == CuFileRoute.COMPAT ? 0 : answer);
      return Optional.of(new Event(request, status, Optional.of(done), Optional.empty()));
    }
    Optional<GpuException> problem =
        answer < 0
            ? Optional.of(
                request
                    .file()
                    .failed(
                        "cuFileBatchIOGetStatus",
                        answer,
                        request.fileOffsetBytes(),
                        request.lengthBytes()))
            : Optional.empty();
    return Optional.of(new Event(request, status, Optional.empty(), problem));
  }

  private void take(long cookie) {
    Pending known = pending.remove(cookie);
    if (known != null) {
      known.hold().close();
    }
  }
}
