package org.metrale.gpu.verbs;

/**
 * What may be done with registered memory, or through a queue pair.
 *
 * @param flags the bits of {@code ibv_access_flags}
 */
public record VerbsAccess(int flags) {
  /** The own adapter reads: the source of writes. Always allowed. */
  public static final VerbsAccess LOCAL_READ = new VerbsAccess(0);

  /** The own adapter writes: the destination of reads and of messages. */
  public static final VerbsAccess LOCAL_WRITE = new VerbsAccess(1);

  /** The peer writes; memory needs {@link #LOCAL_WRITE} too. */
  public static final VerbsAccess REMOTE_WRITE = new VerbsAccess(2);

  /** The peer reads. */
  public static final VerbsAccess REMOTE_READ = new VerbsAccess(4);

  /** The peer does atomic operations; memory needs {@link #LOCAL_WRITE} too. */
  public static final VerbsAccess REMOTE_ATOMIC = new VerbsAccess(8);

  /** The peer reads and writes, the own adapter too. */
  public static final VerbsAccess READ_WRITE = new VerbsAccess(1 | 2 | 4);

  /**
   * Pages are fetched when they are used instead of being held; few adapters can, and others refuse
   * to register memory for it, with {@code EOPNOTSUPP} or {@code EINVAL}.
   */
  public static final VerbsAccess ON_DEMAND = new VerbsAccess(64);

  /**
   * The adapter may write out of order: faster on some hosts. One that cannot writes in order.
   * Since rdma-core 28.
   */
  public static final VerbsAccess RELAXED_ORDERING = new VerbsAccess(1 << 20);

  /**
   * These rights and more.
   *
   * @param more the rights to add
   * @return both together
   */
  public VerbsAccess and(VerbsAccess more) {
    return new VerbsAccess(flags | more.flags);
  }

  /**
   * Whether these rights contain others.
   *
   * @param others the rights to look for
   * @return true if all of them are here
   */
  public boolean includes(VerbsAccess others) {
    return (flags & others.flags) == others.flags;
  }

  @Override
  public String toString() {
    StringBuilder out = new StringBuilder("local read");
    name(out, LOCAL_WRITE, "local write");
    name(out, REMOTE_WRITE, "remote write");
    name(out, REMOTE_READ, "remote read");
    name(out, REMOTE_ATOMIC, "remote atomic");
    name(out, ON_DEMAND, "on demand");
    name(out, RELAXED_ORDERING, "relaxed ordering");
    return out.toString();
  }

  private void name(StringBuilder out, VerbsAccess right, String name) {
    if (includes(right)) {
      out.append(", ").append(name);
    }
  }
}
