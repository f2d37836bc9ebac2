/**
 * The bytes that rails are set up and steered with, as values: server and client records, rail
 * frames, the preambles that come before them and the paging operations that come after.
 *
 * <p><b>Purpose:</b> one codec for both ends. Every message has a value type with {@code encode}, a
 * {@code decode} that takes a whole message and refuses left-over bytes, and, where it arrives on a
 * stream, {@code missing}, which says how many more bytes are certain to belong to it. Counts and
 * lengths are checked before anything is sized by them, and by the same method on the way out: what
 * is refused when read cannot be written.
 *
 * <p>The formats are old and fixed: little-endian, without padding, magic (the paging header
 * excepted), version, record lengths, region sizes, reasons or authentication. Adding any of these
 * would break every deployed peer. The codec is faithful: a record carries what the wire carries,
 * and whether a queue pair number fits 24 bits is for the layer above to judge.
 *
 * <p><b>Units:</b> an unsigned 32-bit field is a {@code long} from 0 to 2<sup>32</sup>-1. An
 * unsigned 64-bit field is a {@code long} holding the same 64 bits, to be printed with {@link
 * Long#toUnsignedString(long)} or in hexadecimal.
 *
 * <p><b>Layers:</b> the JDK's buffers, text and collections; no network, no clock, no log, and
 * nothing of this library.
 *
 * <p><b>Threading:</b> values are immutable and codecs keep no state: use them from any thread. The
 * buffers passed in belong to the caller.
 *
 * <p><b>Cleanup:</b> nothing here holds anything that needs closing.
 */
package org.metrale.gpu.wire;
