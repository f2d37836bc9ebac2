package org.metrale.gpu.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** Every decoder, given any bytes: a value that encodes to the same bytes, or a refusal. */
enum DecoderInputs {
  CLIENT_RECORD(() -> client().encode(), in -> ClientRecord.decode(in).encode()),
  RO_RECORD(
      () -> ((RoRailFrame) RailFrameTest.frame(RailDialect.READ_ONLY, 1)).rails().get(0).encode(),
      in -> RoServerRecord.decode(in).encode()),
  RW_RECORD(
      () -> ((RwRailFrame) RailFrameTest.frame(RailDialect.READ_WRITE, 1)).rails().get(0).encode(),
      in -> RwServerRecord.decode(in).encode()),
  RO_FRAME(
      () -> RailFrameTest.frame(RailDialect.READ_ONLY, 2).encode(),
      in -> RoRailFrame.decode(in, wanted(in)).encode(),
      in -> RoRailFrame.missing(in, wanted(in))),
  RW_FRAME(
      () -> RailFrameTest.frame(RailDialect.READ_WRITE, 2).encode(),
      in -> RwRailFrame.decode(in, wanted(in)).encode(),
      in -> RwRailFrame.missing(in, wanted(in))),
  CLIENT_FRAME(
      () -> new ClientRailFrame(List.of(client())).encode(),
      in -> ClientRailFrame.decode(in, wanted(in)).encode(),
      in -> ClientRailFrame.missing(in, wanted(in))),
  RAIL_COUNT(() -> new RailCount(8).encode(), DecoderInputs::recodeCount),
  ACK(() -> AckStatus.OK.encode(), in -> AckStatus.decode(in).encode()),
  MODE(() -> TransportMode.VERBS.encode(), in -> TransportMode.decode(in).encode()),
  PAGING_HEADER(
      () -> new PagingHeader(PagingKind.KV, 8192, 4096).encode(),
      in -> PagingHeader.decode(in).encode(),
      PagingHeader::missing),
  PAGING_KIND(() -> PagingKind.KV.encode(), in -> PagingKind.decode(in).encode()),
  PAGING_OP(() -> PagingOp.GET.encode(), in -> PagingOp.decode(in).encode()),
  PAGING_REQUEST(
      () -> new PagingRequest(PagingOp.GET, 77).encode(),
      in -> PagingRequest.decode(in).encode().limit(in.remaining()),
      PagingRequest::missing),
  PAGING_STATUS(() -> PagingStatus.MISS.encode(), in -> PagingStatus.decode(in).encode()),
  PAGING_REPLY(
      () -> PagingReply.at(4096).encode(PagingOp.GET),
      in -> PagingReply.decode(in, PagingOp.GET).encode(PagingOp.GET),
      in -> PagingReply.missing(in, PagingOp.GET)),
  PAGING_REPLY_WITHOUT_OFFSET(
      () -> PagingReply.of(PagingStatus.OK).encode(PagingOp.COMMIT),
      in -> PagingReply.decode(in, PagingOp.COMMIT).encode(PagingOp.COMMIT),
      in -> PagingReply.missing(in, PagingOp.COMMIT)),
  MODEL_REQUEST(
      () -> new ModelRequest("model").encode(),
      in -> ModelRequest.decode(in).encode(),
      ModelRequest::missing),
  EXPERT_MANIFEST(
      () -> ManifestDialect.EXPERT.encode(ByteBuffer.wrap(new byte[] {'{', '}'})),
      in -> ManifestDialect.EXPERT.encode(ManifestDialect.EXPERT.decode(in)),
      ManifestDialect.EXPERT::missing),
  WEIGHT_MANIFEST(
      () -> ManifestDialect.WEIGHT.encode(ByteBuffer.wrap(new byte[] {'{', '}'})),
      in -> ManifestDialect.WEIGHT.encode(ManifestDialect.WEIGHT.decode(in)),
      ManifestDialect.WEIGHT::missing),
  BOOTSTRAP(
      () -> NcclBootstrap.of(new byte[NcclBootstrap.BYTES]).encode(),
      in -> NcclBootstrap.decode(in).encode());

  private interface Recode {
    ByteBuffer of(ByteBuffer in) throws WireFormatException;
  }

  @SuppressWarnings("ImmutableEnumChecker") // A function without state.
  private final Supplier<ByteBuffer> example;

  @SuppressWarnings("ImmutableEnumChecker") // A function without state.
  private final Recode recode;

  @SuppressWarnings("ImmutableEnumChecker") // A function without state.
  private final OneByOne.Missing missing;

  DecoderInputs(Supplier<ByteBuffer> example, Recode recode) {
    this(example, recode, in -> 0);
  }

  DecoderInputs(Supplier<ByteBuffer> example, Recode recode, OneByOne.Missing missing) {
    this.example = example;
    this.recode = recode;
    this.missing = missing;
  }

  private static ClientRecord client() {
    return new ClientRecord(new RemoteQp(3, 5, new Gid(7, 9)));
  }

  /** A count of 0 is read, for the server to refuse, and never written. */
  private static ByteBuffer recodeCount(ByteBuffer in) throws WireFormatException {
    RailCount count = RailCount.decode(in);
    return count.rails() == 0 ? in : count.encode();
  }

  /** A message that is right. */
  byte[] example() {
    ByteBuffer bytes = example.get();
    byte[] out = new byte[bytes.remaining()];
    bytes.get(out);
    return out;
  }

  /** Decodes and encodes again. */
  ByteBuffer recode(byte[] bytes) throws WireFormatException {
    return recode.of(ByteBuffer.wrap(bytes).asReadOnlyBuffer());
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
    return Stream.of(values()).map(DecoderInputs::example);
  }

  private boolean isComplete(ByteBuffer in) {
    try {
      return missing.of(in) == 0;
    } catch (WireFormatException e) {
      return false;
    }
  }

  int missing(ByteBuffer in) throws WireFormatException {
    return missing.of(in);
  }

  private static int wanted(ByteBuffer in) {
    return in.hasRemaining() ? Byte.toUnsignedInt(in.get(in.position())) : 1;
  }
}
