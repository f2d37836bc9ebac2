package org.metrale.gpu.nccl;

import java.io.DataInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.SecureRandom;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/**
 * The messages of the TCP bootstrap, big-endian.
 *
 * <pre>
 * server -> client   magic (4), nonce (32)
 * client -> server   magic (4), ranks (4), rank (4), nonce (32), proof (32)
 * server -> client   answer (1); if 0, when all are there: proof (32), id (128)
 * client -> server   0 (1): the id has arrived
 * </pre>
 *
 * A proof is HMAC-SHA-256 over who speaks, both nonces, ranks and rank (and the id); zeros without
 * a secret.
 */
final class Greeting {
  static final int MAGIC = 0x4d4e4332;
  static final int NONCE_BYTES = 32;
  static final int PROOF_BYTES = 32;
  static final byte WELCOME = 0;
  static final byte WRONG_RANKS = 1;
  static final byte NO_SUCH_RANK = 2;
  static final byte RANK_TAKEN = 3;
  static final byte WRONG_SECRET = 4;
  static final byte TOO_LATE = 5;

  private static final SecureRandom RANDOM = new SecureRandom();

  private Greeting() {}

  static byte[] nonce() {
    byte[] out = new byte[NONCE_BYTES];
    RANDOM.nextBytes(out);
    return out;
  }

  static byte[] read(DataInputStream in, int length) throws IOException {
    byte[] out = new byte[length];
    in.readFully(out);
    return out;
  }

  /** Proves knowledge of the secret for one direction of one connection. */
  static byte[] proof(byte[] secret, char who, byte[] server, byte[] client, byte[] content) {
    if (secret.length == 0) {
      return new byte[PROOF_BYTES];
    }
    try {
      Mac mac = Mac.getInstance("HmacSHA256");
      mac.init(new SecretKeySpec(secret, "HmacSHA256"));
      mac.update((byte) who);
      mac.update(server);
      mac.update(client);
      return mac.doFinal(content);
    } catch (GeneralSecurityException e) {
      throw new IllegalStateException("this JDK has no HmacSHA256", e);
    }
  }

  static boolean same(byte[] one, byte[] other) {
    return MessageDigest.isEqual(one, other);
  }

  static byte[] place(int ranks, int rank) {
    return ByteBuffer.allocate(2 * Integer.BYTES).putInt(ranks).putInt(rank).array();
  }

  static String reason(int answer) {
    return switch (answer) {
      case WRONG_RANKS -> "rank 0 expects another number of ranks";
      case NO_SUCH_RANK -> "rank 0 knows no such rank";
      case RANK_TAKEN -> "a process with the same rank is there already";
      case WRONG_SECRET -> "the secret is not rank 0's";
      case TOO_LATE -> "not all ranks came in time";
      default -> "rank 0 answered " + answer;
    };
  }
}
