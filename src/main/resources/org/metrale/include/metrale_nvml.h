/*
 * Flat calls of NVML for the checked layer: handles as 64-bit integers, one crossing for a whole
 * sample. The caller has checked every argument.
 */
#ifndef METRALE_NVML_H
#define METRALE_NVML_H
#endif
