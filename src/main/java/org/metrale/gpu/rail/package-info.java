/**
 * Rails: connections over RDMA that are agreed on over an ordinary stream.
 *
 * <p><b>Purpose:</b> the handshake of both sides and both dialects. {@link
 * org.metrale.gpu.rail.ClientHandshake} and {@link org.metrale.gpu.rail.ServerHandshake} are pure
 * state machines; {@link org.metrale.gpu.rail.HandshakeConnection} runs them over a socket, a
 * channel or a pair of streams, under one deadline for everything. Queue pairs and memory are made
 * by the {@link org.metrale.gpu.rail.ClientRails} or {@link org.metrale.gpu.rail.ServerRails} that
 * are passed in; nothing native is in sight here.
 *
 * <p>What the format lacks: no version, no dialect, no sizes, no reason for a refusal and no
 * authentication travel. Anyone who can connect is given a key to the memory on offer; run the
 * stream over TLS, or where only friends can reach it.
 *
 * <p><b>Layers:</b> {@code wire} and the JDK.
 *
 * <p><b>Threading:</b> states, events and terms are immutable. A connection belongs to one thread;
 * callbacks run on it.
 *
 * <p><b>Cleanup:</b> a handshake that fails closes its stream and nothing else: who made queue
 * pairs and memory closes them. One that succeeds leaves the stream open and to the caller.
 */
package org.metrale.gpu.rail;
