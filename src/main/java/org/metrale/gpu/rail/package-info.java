/**
 * Rails: memory of one process read and written by another over several RDMA devices at once.
 *
 * <p><b>Purpose:</b> both halves of the handshake that connects queue pairs, and what is done with
 * them then. The handshake is a pure state machine for each half ({@link
 * org.metrale.gpu.rail.ClientHandshake}, {@link org.metrale.gpu.rail.ServerHandshake}), driven over
 * a stream by {@link org.metrale.gpu.rail.HandshakeConnection} with one deadline for the whole. A
 * {@link org.metrale.gpu.rail.RailClient} connects a {@link org.metrale.gpu.rail.RailSet} and gives
 * {@link org.metrale.gpu.rail.ConnectedRails}, on which transfers of any length are shared by the
 * rails; a {@link org.metrale.gpu.rail.RailServer} serves {@link org.metrale.gpu.rail.RailMemory}.
 *
 * <p><b>What the format lacks:</b> it tells neither lengths of memory, nor packet sizes, nor LIDs,
 * and authenticates nobody. Who can reach a server's port gets the keys that it offers. What is
 * known of lengths from elsewhere a client can be told ({@link
 * org.metrale.gpu.rail.RailClient#knowing}), packets can be kept small ({@link
 * org.metrale.gpu.verbs.VerbsPath#withMtuCap}) where the two ends are not set up alike, and TLS
 * with certificates can be laid over the connection ({@link org.metrale.gpu.rail.SocketLayer}).
 *
 * <p><b>Layers:</b> uses {@code wire}, {@code verbs}, {@code env} and the root package.
 *
 * <p><b>Threading:</b> each class says it. Daemon threads exist while there is something for them
 * to do: one a server and one a client of it; at the client's end one while transfers run that
 * nobody waits for, and one while rails are rebuilt.
 *
 * <p><b>Cleanup:</b> what has memory or queues is a {@link org.metrale.gpu.NativeResource};
 * transports are closed by whoever has them in use.
 */
package org.metrale.gpu.rail;
