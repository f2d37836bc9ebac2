package org.metrale.gpu.wire;

import com.code_intelligence.jazzer.junit.FuzzTest;
import org.junit.jupiter.api.Tag;

/** Coverage-guided inputs for every decoder; the committed inputs run as ordinary tests. */
@Tag("fuzz")
class WireFuzzTest {
  @FuzzTest(maxDuration = "1m")
  void anyBytesAreAValueOrARefusal(byte[] bytes) {
    for (DecoderInputs decoder : DecoderInputs.values()) {
      decoder.check(bytes);
    }
  }
}
