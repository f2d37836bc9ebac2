package org.metrale.gpu.cufile;

/**
 * What a transfer did.
 *
 * @param lengthBytes how many bytes were moved: fewer than asked where the file ends, or where an
 *     error came after them, which the next transfer then meets
 * @param route which way they went; with {@link CuFileRoute#GDS} and {@link CuFileRoute#P2PDMA}
 *     ragged ends may have gone through the page cache
 * @param directBytes how many of them passed by the page cache; what cuFile was given unaligned, or
 *     for {@link CuFileRoute#COMPAT}, it does not tell, and is not counted
 */
public record CuFileTransfer(long lengthBytes, CuFileRoute route, long directBytes) {}
