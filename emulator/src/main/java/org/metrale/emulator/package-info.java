/**
 * Starts the software GPU host from a Java program.
 *
 * <p><b>Purpose:</b> to develop and test without a GPU or an RDMA adapter. The libraries behave as a
 * machine with GPUs does; what they model and what not stands in the emulator's README.
 *
 * <p><b>Layers:</b> uses the JDK alone. Nothing depends on it.
 *
 * <p><b>Threading:</b> a process has at most one machine; starting and closing are safe from any thread.
 *
 * <p><b>Cleanup:</b> closing removes the unpacked files. Libraries that are open stay open until the process
 * ends.
 */
package org.metrale.emulator;
