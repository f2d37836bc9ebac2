/* Flat calls of NVTX for the checked layer: handles as 64-bit integers, attributes built in C. */
#ifndef METRALE_NVTX_H
#define METRALE_NVTX_H
#endif
