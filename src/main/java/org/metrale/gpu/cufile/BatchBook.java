package org.metrale.gpu.cufile;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.metrale.gpu.GpuException;

/**
 * What a batch knows of its transfers: which are open, and which events nobody has taken yet. Files
 * and buffers stay open from the note of a transfer until its event is taken.
 */
final class BatchBook {
  private final Map<Long, Pending> pending = new HashMap<>();

  /** Events that nobody has taken yet, by cookie. */
  private final Map<Long, CuFileBatch.Event> made = new LinkedHashMap<>();

  private long lastCookie;

  /** A transfer whose event was not taken. */
  private record Pending(CuFileBatch.Request request, CuFileHold hold) {}

  /** How many transfers have no event taken yet. */
  int open() {
    return pending.size();
  }

  /** How many events wait to be taken. */
  int events() {
    return made.size();
  }

  /** Notes a transfer and answers its cookie. */
  @SuppressWarnings("MustBeClosed") // closed by take(), with the transfer's event
  long note(CuFileBatch.Request request) {
    long cookie = ++lastCookie;
    CuFileHold hold = CuFileHold.open("batched transfer", request.file(), request.buffer());
    pending.put(cookie, new Pending(request, hold));
    return cookie;
  }

  CuFileBatch.Request request(long cookie) {
    return pending.get(cookie).request();
  }

  /** Takes all events; their transfers are no longer open. */
  List<CuFileBatch.Event> takeEvents() {
    List<CuFileBatch.Event> out = new ArrayList<>(made.values());
    made.keySet().forEach(this::take);
    made.clear();
    return out;
  }

  /** Makes a transfer without cuFile, and its event. */
  void moveNow(long cookie) {
    made.put(cookie, now(request(cookie)));
  }

  /**
   * After a failure: forgets all transfers if none has begun. Else what cuFile was given stays
   * open, what is done keeps its event, and the others get one.
   */
  void giveUp(List<Long> cookies, Set<Long> handed, GpuException problem) {
    if (handed.isEmpty() && Collections.disjoint(cookies, made.keySet())) {
      cookies.forEach(this::take);
      return;
    }
    fail(
        cookies.stream()
            .filter(cookie -> !handed.contains(cookie) && !made.containsKey(cookie))
            .toList(),
        problem);
  }

  /** Makes events; the problem may be null. */
  void fail(List<Long> cookies, GpuException problem) {
    for (long cookie : cookies) {
      CuFileBatch.Request request = pending.get(cookie).request();
      made.put(
          cookie,
          new CuFileBatch.Event(
              request, CuFileBatch.Status.FAILED, Optional.empty(), Optional.ofNullable(problem)));
    }
  }

  private static CuFileBatch.Event now(CuFileBatch.Request request) {
    try {
      CuFileTransfer done = request.file().moveNow(request.buffer(), work(request));
      return new CuFileBatch.Event(
          request, CuFileBatch.Status.COMPLETE, Optional.of(done), Optional.empty());
    } catch (GpuException e) {
      return new CuFileBatch.Event(
          request, CuFileBatch.Status.FAILED, Optional.empty(), Optional.of(e));
    }
  }

  /** Keeps the event of a transfer that is over. */
  void event(long[] words) {
    CuFileBatch.Status status = new CuFileBatch.Status((int) words[1]);
    Pending known = pending.get(words[0]);
    if (known == null || status.value() == 1 || status.value() == 2) {
      return;
    }
    CuFileBatch.Request request = known.request();
    long answer = words[2];
    boolean complete = status.equals(CuFileBatch.Status.COMPLETE) && answer >= 0;
    made.put(
        words[0],
        new CuFileBatch.Event(
            request,
            status,
            complete ? Optional.of(transfer(request, answer)) : Optional.empty(),
            answer < 0 ? Optional.of(failed(request, answer)) : Optional.empty()));
  }

  private static CuFileTransfer transfer(CuFileBatch.Request request, long doneBytes) {
    CuFileHandle file = request.file();
    return new CuFileTransfer(doneBytes, file.route(), file.directBytes(work(request), doneBytes));
  }

  private static GpuException failed(CuFileBatch.Request request, long answer) {
    return request
        .file()
        .failed("cuFileBatchIOGetStatus", answer, request.fileOffsetBytes(), request.lengthBytes());
  }

  private static CuFileOperation.Work work(CuFileBatch.Request request) {
    return new CuFileOperation.Work(
        request.write(),
        request.lengthBytes(),
        request.fileOffsetBytes(),
        request.bufferOffsetBytes());
  }

  private void take(long cookie) {
    Pending known = pending.remove(cookie);
    if (known != null) {
      known.hold().close();
    }
  }
}
