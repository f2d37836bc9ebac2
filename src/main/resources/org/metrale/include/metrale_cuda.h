/*
 * Flat calls of the CUDA driver for the checked layer: handles and addresses as 64-bit integers, so
 * that a call from Java neither unboxes nor allocates. The caller has checked every argument.
 */
#ifndef METRALE_CUDA_H
#define METRALE_CUDA_H
#endif
