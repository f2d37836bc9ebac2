package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Objects;
import org.metrale.gpu.wire.WireFormatException.Kind;

/**
 * How a client of the cache service begins: which cache it wants and how large.
 *
 * <pre>
 *   0       8      9             17           25
 *   +-------+------+-------------+------------+
 *   | magic | kind | arenaBytes  | blobBytes  |
 *   +-------+------+-------------+------------+
 * </pre>
 *
 * <p>Deployed servers answer nothing to a header that they refuse; they close the connection.
 *
 * @param kind what the cache holds
 * @param arenaBytes the size of the arena in bytes, unsigned; a server takes 1 to {@link
 *     #MAX_ARENA_BYTES}
 * @param blobBytes the size of a slot in bytes, unsigned; 0 asks for a raw arena without paging
 */
public record PagingHeader(PagingKind kind, long arenaBytes, long blobBytes) {
  /** The length on the wire in bytes. */
  public static final int BYTES = 25;

  /** Where the magic is. */
  public static final int MAGIC_OFFSET = 0;

  /** Where the kind is. */
  public static final int KIND_OFFSET = 8;

  /** Where the arena's size is. */
  public static final int ARENA_BYTES_OFFSET = 9;

  /** Where the blob's size is. */
  public static final int BLOB_BYTES_OFFSET = 17;

  /** The first eight bytes: {@code PAGE} and version 2. */
  public static final long MAGIC = 0x5041_4745_0000_0002L;

  /** The first eight bytes of version 1, which is no longer spoken. */
  public static final long RETIRED_MAGIC = 0x5041_4745_0000_0001L;

  /** The largest arena that a server takes; the field could carry 2^64-1. */
  public static final long MAX_ARENA_BYTES = 1L << 42;

  /**
   * Refuses a kind that no reader takes.
   *
   * @param kind what the cache holds
   * @param arenaBytes the size of the arena in bytes, unsigned; a server takes 1 to {@link
   *     #MAX_ARENA_BYTES}
   * @param blobBytes the size of a slot in bytes, unsigned; 0 asks for a raw arena without paging
   * @throws IllegalArgumentException if {@code kind} is neither {@link PagingKind#SSM} nor {@link
   *     PagingKind#KV}; the cause is what a reader would say
   */
  public PagingHeader {
    Objects.requireNonNull(kind, "kind");
    try {
      checkKind(kind.code());
    } catch (WireFormatException e) {
      throw e.asCallerFault();
    }
  }

  /**
   * Whether slots are wanted rather than one raw arena.
   *
   * @return true if {@code blobBytes} is not 0
   */
  public boolean isPaging() {
    return blobBytes != 0;
  }

  /**
   * The header of exactly the remaining bytes.
   *
   * @param whole the header; its position is left alone
   * @return the header, whose sizes are as received
   * @throws WireFormatException if magic or kind is unknown, or there are fewer or more than
   *     {@value #BYTES} bytes
   */
  public static PagingHeader decode(ByteBuffer whole) throws WireFormatException {
    WireReader in = new WireReader(whole);
    checkMagic(in.u64("magic"));
    PagingKind kind = checkKind(in.u8("kind"));
    PagingHeader header = new PagingHeader(kind, in.u64("arenaBytes"), in.u64("blobBytes"));
    in.end("paging header");
    return header;
  }

  /**
   * How many more bytes are certain to belong to a header that begins so.
   *
   * @param soFar what has arrived, from the first byte; its position is left alone
   * @return the bytes up to the end of the magic, the kind or the header; 0 when it is complete
   * @throws WireFormatException if magic or kind is refused, or bytes follow the header
   */
  public static int missing(ByteBuffer soFar) throws WireFormatException {
    ByteBuffer in = soFar.slice().order(ByteOrder.LITTLE_ENDIAN);
    int gotBytes = in.limit();
    if (gotBytes < KIND_OFFSET) {
      return KIND_OFFSET - gotBytes;
    }
    checkMagic(in.getLong(MAGIC_OFFSET));
    if (gotBytes == KIND_OFFSET) {
      return 1;
    }
    checkKind(Byte.toUnsignedInt(in.get(KIND_OFFSET)));
    if (gotBytes > BYTES) {
      throw WireFormatException.trailing("paging header", gotBytes - BYTES);
    }
    return BYTES - gotBytes;
  }

  /**
   * This header, if a server can serve it.
   *
   * @param pagingAvailable whether the server has somewhere to page to
   * @return this
   * @throws WireFormatException if the arena is empty or too large, not a whole number of blobs, or
   *     paging is asked for where there is none; checked in this order
   */
  public PagingHeader requireServable(boolean pagingAvailable) throws WireFormatException {
    if (arenaBytes == 0 || Long.compareUnsigned(arenaBytes, MAX_ARENA_BYTES) > 0) {
      throw WireFormatException.of(
          Kind.ARENA_OUT_OF_RANGE,
          "arenaBytes",
          "1 to " + MAX_ARENA_BYTES,
          Long.toUnsignedString(arenaBytes));
    }
    if (isPaging() && Long.remainderUnsigned(arenaBytes, blobBytes) != 0) {
      throw WireFormatException.of(
          Kind.ARENA_NOT_MULTIPLE,
          "arenaBytes",
          "a multiple of " + Long.toUnsignedString(blobBytes),
          Long.toUnsignedString(arenaBytes));
    }
    if (isPaging() && !pagingAvailable) {
      throw WireFormatException.of(
          Kind.PAGING_UNAVAILABLE, "blobBytes", "0", Long.toUnsignedString(blobBytes));
    }
    return this;
  }

  /**
   * The header's bytes.
   *
   * @return a new buffer of {@value #BYTES} bytes, ready to be read
   */
  public ByteBuffer encode() {
    WireWriter out = new WireWriter(BYTES);
    return out.u64(MAGIC).u8(kind.code()).u64(arenaBytes).u64(blobBytes).message();
  }

  private static void checkMagic(long magic) throws WireFormatException {
    if (magic != MAGIC) {
      Kind kind = magic == RETIRED_MAGIC ? Kind.MAGIC_RETIRED : Kind.MAGIC_UNKNOWN;
      throw WireFormatException.of(kind, "magic", hex(MAGIC), hex(magic));
    }
  }

  private static PagingKind checkKind(int code) throws WireFormatException {
    if (code > PagingKind.KV.code()) {
      throw WireFormatException.of(
          Kind.KIND_UNSUPPORTED, "kind", "0 (SSM) or 1 (KV)", Integer.toString(code));
    }
    return new PagingKind(code);
  }

  private static String hex(long magic) {
    return "0x" + Long.toHexString(magic);
  }
}
