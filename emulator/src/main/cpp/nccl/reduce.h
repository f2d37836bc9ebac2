#ifndef METRALE_EMULATOR_NCCL_REDUCE_H
#define METRALE_EMULATOR_NCCL_REDUCE_H

#include "nccl/api.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace metrale::emulator::nccl
{

/* Bytes of one element; 0 for a type that is not one. */
size_t element_bytes(int type);

/* One input of a reduction: its elements, and what they are multiplied with first. */
struct Input {
    const char *data;
    uint64_t scalar; /* in the bits of the element type */
    bool premultiply;
};

/*
 * Reduces `count` elements of all inputs, in their order, into every output. Each step is
 * rounded to the element type, as the narrow types' arithmetic on the device is. Outputs may
 * be the same memory as inputs. `divide` > 1: the sum of integers is divided by it.
 */
void reduce(int type, int op, const std::vector<Input> &inputs, const std::vector<char *> &outputs,
            size_t count, int divide);

/* 1/n in the element type, for the average of floating-point types. */
uint64_t reciprocal(int type, int n);
bool is_floating(int type);

/* Narrow types; exported to the tests. */
float half_to_float(uint16_t bits);
uint16_t float_to_half(float value);
float bfloat_to_float(uint16_t bits);
uint16_t float_to_bfloat(float value);
float e4m3_to_float(uint8_t bits);
uint8_t float_to_e4m3(float value);
float e5m2_to_float(uint8_t bits);
uint8_t float_to_e5m2(float value);

} // namespace metrale::emulator::nccl

#endif
