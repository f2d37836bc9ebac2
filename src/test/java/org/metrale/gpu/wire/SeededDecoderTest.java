package org.metrale.gpu.wire;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.FutureTask;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class SeededDecoderTest {
  private static final int INPUTS = 100_000;
  private static final long SEED = Long.getLong("org.metrale.test.seed", 20_261_130L);

  @ParameterizedTest
  @EnumSource(DecoderInputs.class)
  void anyBytesAreAValueOrARefusal(DecoderInputs decoder) throws Exception {
    // On a thread of its own, whose stack is short: most of the time goes into stack traces.
    FutureTask<Integer> run = new FutureTask<>(() -> run(decoder));
    new Thread(run, "seeded").start();
    assertTrue(run.get() > 0, "seed " + SEED + ": no input was a value");
  }

  private static int run(DecoderInputs decoder) {
    Random random = new Random(SEED + decoder.name().hashCode());
    List<byte[]> examples = DecoderInputs.examples().toList();
    int values = 0;
    for (int i = 0; i < INPUTS; i++) {
      byte[] input = i % 2 == 0 ? noise(random) : mutant(examples, random);
      try {
        values += decoder.check(input) ? 1 : 0;
      } catch (RuntimeException | AssertionError e) {
        throw new AssertionError("seed " + SEED + ", input " + i, e);
      }
    }
    return values;
  }

  private static byte[] noise(Random random) {
    byte[] bytes = new byte[random.nextInt(80)];
    random.nextBytes(bytes);
    return bytes;
  }

  private static byte[] mutant(List<byte[]> examples, Random random) {
    byte[] example = examples.get(random.nextInt(examples.size()));
    int length = Math.max(0, example.length - Math.max(0, random.nextInt(8) - 5));
    byte[] bytes = Arrays.copyOf(example, length);
    for (int flips = random.nextInt(3); flips > 0 && length > 0; flips--) {
      bytes[random.nextInt(length)] ^= (byte) (1 << random.nextInt(8));
    }
    return bytes;
  }
}
