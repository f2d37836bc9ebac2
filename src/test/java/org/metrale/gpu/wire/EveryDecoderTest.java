package org.metrale.gpu.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.metrale.gpu.wire.WireFormatException.Kind;

/** What holds for every message alike. */
class EveryDecoderTest {
  @ParameterizedTest
  @EnumSource(DecoderInputs.class)
  void isWrittenAsItWasRead(DecoderInputs decoder) throws Exception {
    assertEquals(ByteBuffer.wrap(decoder.example()), decoder.recode(decoder.example()));
  }

  @ParameterizedTest
  @EnumSource(DecoderInputs.class)
  void everyTruncationIsRefused(DecoderInputs decoder) {
    byte[] whole = decoder.example();
    for (int length = 0; length < whole.length; length++) {
      byte[] cut = Arrays.copyOf(whole, length);
      WireFormatException e = assertThrows(WireFormatException.class, () -> decoder.recode(cut));
      assertEquals(Kind.TRUNCATED, e.kind(), "after " + length + " bytes");
    }
  }

  @ParameterizedTest
  @EnumSource(DecoderInputs.class)
  void oneByteMoreIsRefused(DecoderInputs decoder) {
    byte[] longer = Arrays.copyOf(decoder.example(), decoder.example().length + 1);
    WireFormatException e = assertThrows(WireFormatException.class, () -> decoder.recode(longer));
    assertEquals(Kind.TRAILING_BYTES, e.kind());
  }

  /** Those of one length have no say in how much of a stream is theirs. */
  @ParameterizedTest
  @EnumSource(
      value = DecoderInputs.class,
      mode = EnumSource.Mode.EXCLUDE,
      names = {
        "CLIENT_RECORD",
        "RO_RECORD",
        "RW_RECORD",
        "RAIL_COUNT",
        "ACK",
        "MODE",
        "PAGING_KIND",
        "PAGING_OP",
        "PAGING_STATUS",
        "BOOTSTRAP"
      })
  void isTakenOffAStreamByteByByteAndNoFurther(DecoderInputs decoder) throws Exception {
    byte[] whole = decoder.example();
    ByteBuffer stream = ByteBuffer.wrap(Arrays.copyOf(whole, whole.length + 1)).asReadOnlyBuffer();
    OneByOne fed = OneByOne.feed(stream, decoder::missing);
    assertTrue(fed.complete());
    assertEquals(ByteBuffer.wrap(whole), fed.taken());
  }
}
