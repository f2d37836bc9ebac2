package org.metrale.gpu.nccl;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;

/**
 * What one rank did last: a copy of its flight recorder, to read, to send, and to compare.
 *
 * <p>The text form has a line an operation and can be read back by {@link #parse}, so that records
 * of several processes can be compared in one place.
 *
 * @param rank whose record it is
 * @param ranks how many ranks the communicator has
 * @param lastIssued the number of the last operation whose call has returned, or -1
 * @param lastCompleted the number of the last one that is done, or -1
 * @param failure what broke the communicator, or an empty text
 * @param entries the operations that are kept, oldest first; the last may be one whose call runs
 */
public record NcclFlightRecord(
    int rank, int ranks, long lastIssued, long lastCompleted, String failure, List<Entry> entries) {
  private static final int FIELDS = 11;

  /** How far an operation has come. */
  public enum State {
    /** Issued and not done. */
    RUNNING,
    /** Done. */
    DONE,
    /** Not done when the communicator broke. */
    FAILED
  }

  /**
   * One operation.
   *
   * @param sequence its number on this rank, from 0
   * @param collective its number among the collectives, which is the same on all ranks; -1 for what
   *     two ranks do with each other
   * @param kind what it does
   * @param type the elements' type
   * @param reduction NCCL's number of the reduction, 0 where there is none
   * @param countElements how many elements
   * @param peer the root or the peer, 0 where there is none
   * @param stream the stream's handle
   * @param state how far it has come
   * @param issuedNanos when it was issued, on this process's clock, to some milliseconds
   * @param finishedNanos when it was seen to be done, or 0
   */
  public record Entry(
      long sequence,
      long collective,
      NcclOperationKind kind,
      String type,
      int reduction,
      long countElements,
      int peer,
      long stream,
      State state,
      long issuedNanos,
      long finishedNanos) {
    /** What must be the same on all ranks. */
    String shape() {
      return kind
          + " "
          + type
          + " reduction="
          + reduction
          + " count="
          + countElements
          + " root="
          + peer;
    }
  }

  /**
   * The first difference between ranks.
   *
   * @param sequence the number of the operation
   * @param rank the rank that differs from the lowest one
   * @param description what it did, or that it never issued the operation
   */
  public record Difference(long sequence, int rank, String description) {}

  /**
   * Copies the list.
   *
   * @param rank whose record it is
   * @param ranks how many ranks the communicator has
   * @param lastIssued the number of the last operation whose call has returned, or -1
   * @param lastCompleted the number of the last one that is done, or -1
   * @param failure what broke the communicator, or an empty text
   * @param entries the operations that are kept, oldest first
   */
  public NcclFlightRecord {
    Objects.requireNonNull(failure, "failure");
    entries = List.copyOf(entries);
  }

  static NcclFlightRecord of(RankState state) {
    NcclException broken = state.failure();
    return new NcclFlightRecord(
        state.rank,
        state.ranks,
        state.progress.lastIssued(),
        state.progress.completed(),
        broken == null ? "" : broken.getMessage().replace('\n', ' '),
        state.entries());
  }

  /**
   * Compares what several ranks did.
   *
   * @param records one a rank, of the same communicator; ranks may be missing
   * @return the first collective that differs or that some rank never issued; empty if all agree
   */
  public static Optional<Difference> compare(List<NcclFlightRecord> records) {
    List<NcclFlightRecord> all = new ArrayList<>(records);
    all.sort(Comparator.comparingInt(NcclFlightRecord::rank));
    if (all.isEmpty()) {
      return Optional.empty();
    }
    TreeMap<Long, Difference> found = new TreeMap<>();
    for (NcclFlightRecord other : all.subList(1, all.size())) {
      difference(all.get(0), other).ifPresent(d -> found.putIfAbsent(d.collective, d.difference));
    }
    return found.isEmpty() ? Optional.empty() : Optional.of(found.firstEntry().getValue());
  }

  /** A difference and the number of the collective, by which the first is found. */
  private record Found(long collective, Difference difference) {}

  private TreeMap<Long, Entry> collectives() {
    TreeMap<Long, Entry> out = new TreeMap<>();
    for (Entry entry : entries) {
      if (entry.collective() >= 0) {
        out.put(entry.collective(), entry);
      }
    }
    return out;
  }

  private static Optional<Found> difference(NcclFlightRecord one, NcclFlightRecord other) {
    TreeMap<Long, Entry> left = one.collectives();
    TreeMap<Long, Entry> right = other.collectives();
    if (left.isEmpty() || right.isEmpty()) {
      TreeMap<Long, Entry> longer = left.isEmpty() ? right : left;
      int rank = left.isEmpty() ? one.rank : other.rank;
      return longer.isEmpty() ? Optional.empty() : Optional.of(lacking(rank, 0, longer));
    }
    // What only one of them keeps any more cannot be compared.
    long first = Math.max(left.firstKey(), right.firstKey());
    long lastOfBoth = Math.min(left.lastKey(), right.lastKey());
    for (long number = first; number <= lastOfBoth; number++) {
      Entry mine = left.get(number);
      Entry theirs = right.get(number);
      if (mine != null && theirs != null && !mine.shape().equals(theirs.shape())) {
        String what =
            "rank "
                + other.rank
                + " issued "
                + theirs.shape()
                + ", rank "
                + one.rank
                + " "
                + mine.shape();
        return Optional.of(new Found(number, new Difference(mine.sequence(), other.rank, what)));
      }
    }
    if (left.lastKey().equals(right.lastKey())) {
      return Optional.empty();
    }
    boolean shorter = left.lastKey() < right.lastKey();
    return Optional.of(
        lacking(shorter ? one.rank : other.rank, lastOfBoth + 1, shorter ? right : left));
  }

  private static Found lacking(int rank, long number, TreeMap<Long, Entry> others) {
    Entry known = others.get(number);
    if (known != null) {
      return new Found(number, never(known, rank));
    }
    String what =
        "rank " + rank + " never issued collective " + number + ", which the others keep no more";
    return new Found(number, new Difference(others.firstEntry().getValue().sequence(), rank, what));
  }

  private static Difference never(Entry entry, int rank) {
    return new Difference(
        entry.sequence(),
        rank,
        "rank " + rank + " never issued operation " + entry.sequence() + ", " + entry.shape());
  }

  /**
   * Reads the text form.
   *
   * @param text what {@link #toString()} gave
   * @return the record
   * @throws IllegalArgumentException if it is something else
   */
  public static NcclFlightRecord parse(String text) {
    String[] lines = text.strip().split("\n", -1);
    String[] head = lines[0].split(" ", 9);
    if (head.length < 9 || !head[0].equals("nccl-flight-record")) {
      throw new IllegalArgumentException("not a flight record: " + lines[0]);
    }
    List<Entry> entries = new ArrayList<>();
    for (int i = 1; i < lines.length; i++) {
      entries.add(entry(lines[i].split(" ", -1)));
    }
    return new NcclFlightRecord(
        Integer.parseInt(head[2]),
        Integer.parseInt(head[3]),
        Long.parseLong(head[5]),
        Long.parseLong(head[6]),
        head[8],
        entries);
  }

  private static Entry entry(String[] f) {
    if (f.length != FIELDS) {
      throw new IllegalArgumentException("not an operation: " + String.join(" ", f));
    }
    return new Entry(
        Long.parseLong(f[0]),
        Long.parseLong(f[1]),
        NcclOperationKind.valueOf(f[2]),
        f[3],
        Integer.parseInt(f[4]),
        Long.parseLong(f[5]),
        Integer.parseInt(f[6]),
        Long.parseUnsignedLong(f[7], 16),
        State.valueOf(f[8]),
        Long.parseLong(f[9]),
        Long.parseLong(f[10]));
  }

  /**
   * The record for other programs.
   *
   * @return one JSON object
   */
  public String toJson() {
    StringBuilder out = new StringBuilder();
    out.append("{\"rank\":").append(rank).append(",\"ranks\":").append(ranks);
    out.append(",\"lastIssued\":").append(lastIssued);
    out.append(",\"lastCompleted\":").append(lastCompleted);
    out.append(",\"failure\":").append(quote(failure)).append(",\"operations\":[");
    String separator = "";
    for (Entry e : entries) {
      out.append(separator).append("{\"sequence\":").append(e.sequence());
      out.append(",\"collective\":").append(e.collective());
      out.append(",\"kind\":").append(quote(e.kind().name()));
      out.append(",\"type\":").append(quote(e.type()));
      out.append(",\"reduction\":").append(e.reduction());
      out.append(",\"countElements\":").append(e.countElements());
      out.append(",\"peer\":").append(e.peer());
      out.append(",\"stream\":").append(quote(Long.toHexString(e.stream())));
      out.append(",\"state\":").append(quote(e.state().name()));
      out.append(",\"issuedNanos\":").append(e.issuedNanos());
      out.append(",\"finishedNanos\":").append(e.finishedNanos()).append('}');
      separator = ",";
    }
    return out.append("]}").toString();
  }

  private static String quote(String text) {
    StringBuilder out = new StringBuilder("\"");
    for (int i = 0; i < text.length(); i++) {
      char c = text.charAt(i);
      if (c == '"' || c == '\\') {
        out.append('\\').append(c);
      } else if (c < ' ') {
        out.append(String.format("\\u%04x", (int) c));
      } else {
        out.append(c);
      }
    }
    return out.append('"').toString();
  }

  /** One line with who and how far, then a line an operation, fields apart by spaces. */
  @Override
  public String toString() {
    StringBuilder out = new StringBuilder("nccl-flight-record rank ");
    out.append(rank).append(' ').append(ranks).append(" issued-done ");
    out.append(lastIssued).append(' ').append(lastCompleted).append(" failure ").append(failure);
    for (Entry e : entries) {
      out.append('\n').append(e.sequence()).append(' ').append(e.collective()).append(' ');
      out.append(e.kind()).append(' ');
      out.append(e.type().replace(' ', '_')).append(' ').append(e.reduction()).append(' ');
      out.append(e.countElements()).append(' ').append(e.peer()).append(' ');
      out.append(Long.toHexString(e.stream())).append(' ').append(e.state()).append(' ');
      out.append(e.issuedNanos()).append(' ').append(e.finishedNanos());
    }
    return out.toString();
  }
}
