package org.metrale.gpu.rail;

import com.code_intelligence.jazzer.junit.FuzzTest;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Tag;
import org.metrale.gpu.wire.RailDialect;

/** Coverage-guided peers for both halves of the handshake, in both dialects. */
@Tag("fuzz")
class HandshakeFuzzTest {
  @FuzzTest(maxDuration = "1m")
  void clientEndsWhateverItsServerSays(byte[] bytes) {
    for (RailDialect dialect : RailDialect.values()) {
      for (int rails = 1; rails <= 3; rails++) {
        HandshakeInputs.client(dialect, rails, ByteBuffer.wrap(bytes));
      }
    }
  }

  @FuzzTest(maxDuration = "1m")
  void serverEndsWhateverItsClientSays(byte[] bytes) {
    for (RailDialect dialect : RailDialect.values()) {
      HandshakeInputs.server(dialect, ByteBuffer.wrap(bytes));
    }
  }
}
