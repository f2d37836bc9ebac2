/**
 * The doctor: what of NVIDIA's and RDMA's software this machine has, and why not.
 *
 * <p><b>Purpose:</b> a command that answers most questions about a machine by itself. Without any
 * dependency of its own, so that it runs wherever the library runs.
 *
 * <p><b>Layers:</b> may use every package under {@code org.metrale.gpu}, may print and end the
 * process; nothing depends on it.
 *
 * <p><b>Threading:</b> one thread; each section runs on its own, under a deadline.
 *
 * <p><b>Cleanup:</b> the process ends.
 */
package org.metrale.gpu.tool;
