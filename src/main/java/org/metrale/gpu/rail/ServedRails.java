package org.metrale.gpu.rail;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.metrale.gpu.verbs.VerbsAccess;
import org.metrale.gpu.wire.RailDialect;
import org.metrale.gpu.wire.Region;
import org.metrale.gpu.wire.RoRailFrame;
import org.metrale.gpu.wire.RoServerRecord;
import org.metrale.gpu.wire.RwRailFrame;
import org.metrale.gpu.wire.RwServerRecord;
import org.metrale.gpu.wire.ServerFrame;

/** One client's rails at the server: made before the first byte is sent, closed when it is gone. */
final class ServedRails implements ServerRails {
  private static final System.Logger LOG = System.getLogger("org.metrale.gpu.rail");

  private final RailSet rails;
  private final RailDialect dialect;
  private final RailShare share;
  private final MemoryLedger ledger;
  private final PacketNumbers numbers;
  private final List<RailEnd> ends = new ArrayList<>();
  private final List<RailMemory> own = new ArrayList<>();
  private RailSet apart;
  private long charged;

  ServedRails(
      RailSet rails,
      RailDialect dialect,
      RailShare share,
      MemoryLedger ledger,
      PacketNumbers numbers) {
    this.rails = rails;
    this.dialect = dialect;
    this.share = share;
    this.ledger = ledger;
    this.numbers = numbers;
  }

  @Override
  public int available() {
    return rails.size();
  }

  @Override
  @SuppressWarnings("MustBeClosed") // close() does
  public ServerFrame prepare(int count) throws IOException {
    boolean readOnly = dialect.equals(RailDialect.READ_ONLY);
    List<RailMemory> offered = share.shared();
    RailSet mine = rails;
    if (!share.apart().isEmpty()) {
      charge(share.ownBytes());
      apart = rails.apart(count);
      mine = apart;
      VerbsAccess access = readOnly ? VerbsAccess.REMOTE_READ : VerbsAccess.READ_WRITE;
      for (RailBuffer buffer : share.apart()) {
        own.add(RailMemory.borrow(apart, buffer, access));
      }
      offered = own;
    }
    VerbsAccess peers =
        readOnly ? VerbsAccess.REMOTE_READ : VerbsAccess.REMOTE_READ.and(VerbsAccess.REMOTE_WRITE);
    for (int rail = 0; rail < count; rail++) {
      ends.add(RailEnd.prepareForServing(mine, rail, peers, numbers));
    }
    return frame(readOnly, offered);
  }

  private ServerFrame frame(boolean readOnly, List<RailMemory> offered) {
    if (readOnly) {
      List<RoServerRecord> records = new ArrayList<>();
      for (int rail = 0; rail < ends.size(); rail++) {
        records.add(new RoServerRecord(ends.get(rail).local().toWire(), regions(offered, rail)));
      }
      return new RoRailFrame(records);
    }
    if (offered.size() != 1) {
      throw new IllegalStateException(
          "a read-write service offers one region, not " + offered.size());
    }
    List<RwServerRecord> records = new ArrayList<>();
    for (int rail = 0; rail < ends.size(); rail++) {
      records.add(
          new RwServerRecord(ends.get(rail).local().toWire(), regions(offered, rail).get(0)));
    }
    return new RwRailFrame(records);
  }

  private static List<Region> regions(List<RailMemory> offered, int rail) {
    return offered.stream()
        .map(
            memory ->
                new Region(memory.address(), Integer.toUnsignedLong(memory.region(rail).rkey())))
        .toList();
  }

  private void charge(long bytes) throws IOException {
    if (!ledger.tryReserve(bytes)) {
      throw new IOException(bytes + " bytes more do not fit: " + ledger + " are reserved");
    }
    charged = bytes;
  }

  @Override
  public void connect(int railIndex, RemoteQueuePair remote) {
    ends.get(railIndex).connect(remote);
  }

  /**
   * Queue pairs first, then memory, then domains; as far as a device does not let go of them now,
   * when it does.
   *
   * @param afterwards runs once, when nothing is left
   */
  @SuppressWarnings("FutureReturnValueIgnored") // closeMemory says itself what goes wrong
  void close(Runnable afterwards) {
    List<AutoCloseable> pairs = new ArrayList<>();
    ends.forEach(end -> pairs.add(end::close));
    try {
      Closing.all(pairs);
    } finally {
      CompletableFuture.allOf(
              ends.stream().map(RailEnd::ended).toArray(CompletableFuture<?>[]::new))
          .thenRun(() -> closeMemory(afterwards));
    }
  }

  private void closeMemory(Runnable afterwards) {
    List<AutoCloseable> all = new ArrayList<>();
    if (apart != null) {
      all.add(apart);
    }
    all.addAll(own);
    try {
      Closing.all(all);
    } catch (RuntimeException e) {
      LOG.log(Level.WARNING, "a client's memory did not close", e);
    } finally {
      ledger.release(charged);
      charged = 0;
      afterwards.run();
    }
  }
}
