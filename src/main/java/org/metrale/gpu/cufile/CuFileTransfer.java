package org.metrale.gpu.cufile;

/**
 * What a transfer did.
 *
 * @param lengthBytes how many bytes were moved: fewer than asked where the file ends, or where an
 *     error came after them, which the next transfer then meets
 * @param route which way they went
 * @param directBytes how many of them passed by the page cache; for {@link CuFileRoute#COMPAT}
 *     cuFile does not tell, and this is 0
 */
public record CuFileTransfer(long lengthBytes, CuFileRoute route, long directBytes) {}
