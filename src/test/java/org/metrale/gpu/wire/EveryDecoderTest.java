package org.metrale.gpu.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.metrale.gpu.wire.WireFormatException.Kind;

/** What holds for every message alike. */
class EveryDecoderTest {
  /** One that is not here is neither tried below nor by the fuzzer: it belongs there first. */
  private static final Set<String> TRIED =
      Set.of(
          "AckStatus",
          "ClientRailFrame",
          "ClientRecord",
          "ManifestDialect",
          "ModelRequest",
          "NcclBootstrap",
          "PagingHeader",
          "PagingKind",
          "PagingOp",
          "PagingReply",
          "PagingRequest",
          "PagingStatus",
          "RailCount",
          "RailDialect", // which of the two frames it is
          "RoRailFrame",
          "RoServerRecord",
          "RwRailFrame",
          "RwServerRecord",
          "TransportMode");

  @Test
  void noDecoderIsLeftOut() throws Exception {
    Path classes =
        Path.of(WireCounts.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    Set<String> found = new TreeSet<>();
    try (Stream<Path> files = Files.list(classes.resolve("org/metrale/gpu/wire"))) {
      for (Path file : files.filter(each -> each.toString().endsWith(".class")).toList()) {
        String name = file.getFileName().toString().replace(".class", "");
        Class<?> type = Class.forName("org.metrale.gpu.wire." + name);
        if (Modifier.isPublic(type.getModifiers())
            && Stream.of(type.getMethods()).anyMatch(one -> one.getName().equals("decode"))) {
          found.add(name);
        }
      }
    }
    assertEquals(TRIED, found);
  }

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
