package org.metrale.gpu.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.stream.Stream;

/** Every decoder, given any bytes: a value that encodes to the same bytes, or a refusal. */
enum DecoderInputs {
  CLIENT_RECORD(in -> ClientRecord.decode(in).encode()),
  RO_RECORD(in -> RoServerRecord.decode(in).encode()),
  RW_RECORD(in -> RwServerRecord.decode(in).encode()),
  RO_FRAME(
      in -> RoRailFrame.decode(in, wanted(in)).encode(), in -> RoRailFrame.missing(in, wanted(in))),
  RW_FRAME(
      in -> RwRailFrame.decode(in, wanted(in)).encode(), in -> RwRailFrame.missing(in, wanted(in))),
  CLIENT_FRAME(
      in -> ClientRailFrame.decode(in, wanted(in)).encode(),
      in -> ClientRailFrame.missing(in, wanted(in))),
  ACK(in -> AckStatus.decode(in).encode()),
  MODE(in -> TransportMode.decode(in).encode()),
  PAGING_HEADER(in -> PagingHeader.decode(in).encode(), PagingHeader::missing),
  PAGING_REQUEST(
      in -> PagingRequest.decode(in).encode().limit(in.remaining()), PagingRequest::missing),
  PAGING_REPLY(
      in -> PagingReply.decode(in, PagingOp.GET).encode(PagingOp.GET),
      in -> PagingReply.missing(in, PagingOp.GET)),
  MODEL_REQUEST(in -> ModelRequest.decode(in).encode(), ModelRequest::missing),
  MANIFEST(
      in -> ManifestDialect.EXPERT.encode(ManifestDialect.EXPERT.decode(in)),
      ManifestDialect.EXPERT::missing),
  BOOTSTRAP(in -> NcclBootstrap.decode(in).encode());

  private interface Recode {
    ByteBuffer of(ByteBuffer in) throws WireFormatException;
  }

  @SuppressWarnings("ImmutableEnumChecker") // A function without state.
  private final Recode recode;

  @SuppressWarnings("ImmutableEnumChecker") // A function without state.
  private final OneByOne.Missing missing;

  DecoderInputs(Recode recode) {
    this(recode, in -> 0);
  }

  DecoderInputs(Recode recode, OneByOne.Missing missing) {
    this.recode = recode;
    this.missing = missing;
  }

  /** Throws an {@link AssertionError} or whatever the decoder should not have thrown. */
  boolean check(byte[] bytes) {
    ByteBuffer in = ByteBuffer.wrap(bytes).asReadOnlyBuffer();
    boolean streamed = isComplete(in);
    try {
      assertEquals(in, recode.of(in), name());
      if (!streamed && missing(in) != 0) {
        throw new AssertionError(name() + " decodes what its stream reader refuses");
      }
      return true;
    } catch (WireFormatException e) {
      return false;
    }
  }

  static Stream<byte[]> examples() {
    RemoteQp qp = new RemoteQp(3, 5, new Gid(7, 9));
    return Stream.of(
            new ClientRecord(qp).encode(),
            RailFrameTest.frame(RailDialect.READ_ONLY, 2).encode(),
            RailFrameTest.frame(RailDialect.READ_WRITE, 2).encode(),
            ((RoRailFrame) RailFrameTest.frame(RailDialect.READ_ONLY, 1)).rails().get(0).encode(),
            ((RwRailFrame) RailFrameTest.frame(RailDialect.READ_WRITE, 1)).rails().get(0).encode(),
            new ClientRailFrame(List.of(new ClientRecord(qp))).encode(),
            new PagingHeader(PagingKind.KV, 8192, 4096).encode(),
            new PagingRequest(PagingOp.GET, 77).encode(),
            PagingReply.at(4096).encode(PagingOp.GET),
            new ModelRequest("model").encode(),
            NcclBootstrap.of(new byte[NcclBootstrap.BYTES]).encode(),
            AckStatus.OK.encode())
        .map(DecoderInputs::copy);
  }

  private static byte[] copy(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.get(bytes);
    return bytes;
  }

  private boolean isComplete(ByteBuffer in) {
    try {
      return missing.of(in) == 0;
    } catch (WireFormatException e) {
      return false;
    }
  }

  private int missing(ByteBuffer in) throws WireFormatException {
    return missing.of(in);
  }

  private static int wanted(ByteBuffer in) {
    return in.hasRemaining() ? Byte.toUnsignedInt(in.get(in.position())) : 1;
  }
}
