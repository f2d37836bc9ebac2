package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The two services that begin with a manifest, and how long each lets it be.
 *
 * <pre>
 *   0        4             4 + length
 *   +--------+-------------+
 *   | length | JSON, UTF-8 |
 *   +--------+-------------+
 * </pre>
 *
 * <p>The manifest's contents are the application's; here they are bytes.
 */
public enum ManifestDialect {
  /** The expert service: at most 16 MiB. */
  EXPERT(16 << 20),

  /** The weight service: at most 256 MiB. */
  WEIGHT(256 << 20);

  /** The length of the prefix in bytes. */
  public static final int PREFIX_BYTES = 4;

  private final int maxBytes;

  ManifestDialect(int maxBytes) {
    this.maxBytes = maxBytes;
  }

  /**
   * The longest manifest that a reader takes; the prefix could carry 2<sup>32</sup>-1.
   *
   * @return the limit in bytes, without the prefix
   */
  public int maxBytes() {
    return maxBytes;
  }

  /**
   * The manifest of exactly the remaining bytes.
   *
   * <p><b>Ownership:</b> the answer shares the memory of {@code whole}; nothing is copied.
   *
   * @param whole prefix and manifest; its position is left alone
   * @return the manifest without its prefix, read-only
   * @throws WireFormatException if the length is out of range, or there are fewer or more bytes
   *     than it says
   */
  public ByteBuffer decode(ByteBuffer whole) throws WireFormatException {
    ByteBuffer in = whole.slice().order(ByteOrder.LITTLE_ENDIAN);
    if (in.limit() < PREFIX_BYTES) {
      throw WireFormatException.truncated("manifest.length", PREFIX_BYTES, in.limit());
    }
    int left = missing(whole);
    if (left > 0) {
      int gotBytes = in.limit() - PREFIX_BYTES;
      throw WireFormatException.truncated("manifest", gotBytes + left, gotBytes);
    }
    return in.position(PREFIX_BYTES).slice().asReadOnlyBuffer();
  }

  /**
   * How many more bytes are certain to belong to a manifest that begins so.
   *
   * <p>A peer may announce {@link #maxBytes()} and send nothing: a reader does well to grow its
   * buffer with what arrives.
   *
   * @param soFar what has arrived, from the prefix's first byte; its position is left alone
   * @return the bytes of the prefix, then of the manifest; 0 when it is complete
   * @throws WireFormatException if the length is out of range, or bytes follow the manifest
   */
  public int missing(ByteBuffer soFar) throws WireFormatException {
    return ModelRequest.missing(soFar, "manifest", maxBytes);
  }

  /**
   * Prefix and manifest, to be sent with one write.
   *
   * @param manifest the manifest's bytes; its position is left alone
   * @return a new buffer, ready to be read
   * @throws IllegalArgumentException if the manifest is empty or too long; the cause is what a
   *     reader would say
   */
  public ByteBuffer encode(ByteBuffer manifest) {
    int lengthBytes = manifest.remaining();
    try {
      WireCounts.length("manifest.length", lengthBytes, maxBytes);
    } catch (WireFormatException e) {
      throw e.asCallerFault();
    }
    return new WireWriter(PREFIX_BYTES + lengthBytes).u32(lengthBytes).bytes(manifest).message();
  }
}
