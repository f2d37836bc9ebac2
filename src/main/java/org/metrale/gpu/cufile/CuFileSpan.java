package org.metrale.gpu.cufile;

/**
 * A file and a memory as cuFile knows them.
 *
 * @param context the context that is current for calls, or 0
 * @param handle the file
 * @param base where the memory begins
 */
record CuFileSpan(long context, long handle, long base) {}
