/**
 * RDMA verbs, checked: devices, ports and the tables of addresses that a connection is made from.
 *
 * <p><b>Purpose:</b> what {@code libibverbs} offers, with every code as an exception or a value and
 * every object closed once and in order.
 *
 * <p><b>Layers:</b> uses {@code org.metrale.gpu}, its own generated package and JavaCPP; {@code
 * VerbsCalls} is the one class that calls generated code.
 *
 * <p><b>Threading:</b> values are immutable; each class says the rest.
 *
 * <p><b>Cleanup:</b> whatever is opened here is a {@link org.metrale.gpu.NativeResource}.
 */
package org.metrale.gpu.verbs;
