/**
 * The command line: {@code demo}, {@code top}, {@code gds} and {@code rail}.
 *
 * <p><b>Purpose:</b> shows on a terminal what the library can do, on GPUs and RDMA devices or on
 * the software GPU host.
 *
 * <p><b>Layers:</b> uses the checked packages of {@code org.metrale.gpu}, the emulator's starter,
 * and libraries for arguments, progress bars and charts. Nothing depends on it. Unlike the library
 * it prints and ends the process.
 *
 * <p><b>Threading:</b> one command a process.
 *
 * <p><b>Cleanup:</b> every command closes what it opened; the process a demo forks ends with it.
 */
package org.metrale.tools;
