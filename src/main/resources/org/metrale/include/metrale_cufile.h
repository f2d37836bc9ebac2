/*
 * Flat calls of cuFile for the checked layer: handles and addresses as 64-bit integers, and the two
 * halves of CUfileError_t packed into one, because a structure returned by value makes JavaCPP
 * allocate. The caller has checked every argument.
 */
#ifndef METRALE_CUFILE_H
#define METRALE_CUFILE_H
#endif
