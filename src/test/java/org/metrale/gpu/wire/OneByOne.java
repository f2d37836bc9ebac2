package org.metrale.gpu.wire;

import java.nio.ByteBuffer;
import java.util.Optional;

/**
 * What a reader takes off a stream that arrives one byte at a time: never more than the codec says
 * is certain, until it is complete, refused or at the end of the input.
 */
record OneByOne(ByteBuffer taken, Optional<WireFormatException> refusal, boolean complete) {
  interface Missing {
    int of(ByteBuffer soFar) throws WireFormatException;
  }

  static OneByOne feed(ByteBuffer input, Missing missing) {
    int taken = 0;
    try {
      int wanted = missing.of(input.duplicate().limit(0));
      while (wanted > 0 && taken < input.limit()) {
        taken++;
        int before = wanted;
        wanted = missing.of(input.duplicate().limit(taken));
        if (before > 1 && wanted != before - 1) {
          throw new AssertionError("wanted " + before + ", then " + wanted + " after one byte");
        }
      }
      return new OneByOne(input.duplicate().limit(taken), Optional.empty(), wanted == 0);
    } catch (WireFormatException e) {
      return new OneByOne(input.duplicate().limit(taken), Optional.of(e), false);
    }
  }
}
