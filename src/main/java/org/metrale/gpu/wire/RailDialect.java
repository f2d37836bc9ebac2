package org.metrale.gpu.wire;

import java.nio.ByteBuffer;

/**
 * Which of the two record formats a service speaks. Nothing on the wire says so; both sides have to
 * know.
 */
public enum RailDialect {
  /** Regions that the peer may only read: experts, weights, adapters. */
  READ_ONLY {
    @Override
    public ServerFrame decode(ByteBuffer whole, int wantedRails) throws WireFormatException {
      return RoRailFrame.decode(whole, wantedRails);
    }

    @Override
    public int missing(ByteBuffer soFar, int wantedRails) throws WireFormatException {
      return RoRailFrame.missing(soFar, wantedRails);
    }
  },

  /** One arena that the peer may read and write: the cache service. */
  READ_WRITE {
    @Override
    public ServerFrame decode(ByteBuffer whole, int wantedRails) throws WireFormatException {
      return RwRailFrame.decode(whole, wantedRails);
    }

    @Override
    public int missing(ByteBuffer soFar, int wantedRails) throws WireFormatException {
      return RwRailFrame.missing(soFar, wantedRails);
    }
  };

  /**
   * The server frame of exactly the remaining bytes.
   *
   * @param whole the frame; its position is left alone
   * @param wantedRails the number of rails that was asked for
   * @return the frame
   * @throws WireFormatException if the bytes are not a frame of that many rails
   */
  public abstract ServerFrame decode(ByteBuffer whole, int wantedRails) throws WireFormatException;

  /**
   * How many more bytes are certain to belong to a server frame that begins so.
   *
   * @param soFar what has arrived, from the frame's first byte; its position is left alone
   * @param wantedRails the number of rails that was asked for
   * @return the number of bytes that can be read without reading past the frame or past a field
   *     that may be refused; 0 when the frame is complete
   * @throws WireFormatException if what has arrived cannot become a frame of that many rails
   */
  public abstract int missing(ByteBuffer soFar, int wantedRails) throws WireFormatException;
}
