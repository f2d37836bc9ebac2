#ifndef METRALE_EMULATOR_NVML_ANSWERS_HPP
#define METRALE_EMULATOR_NVML_ANSWERS_HPP

#include "state.hpp"

/* Whole functions that hand out one reading. */
#define METRALE_ANSWER_NUMBER(function, type, key)                                                 \
    NVML_API nvmlReturn_t function(nvmlDevice_t device, type *value)                               \
    {                                                                                              \
        METRALE_DEVICE(gpu, device);                                                               \
        return metrale::telemetry::read_number(*gpu, key, value);                                  \
    }

#define METRALE_ANSWER_TEXT(function, key)                                                         \
    NVML_API nvmlReturn_t function(nvmlDevice_t device, char *text, unsigned int length)           \
    {                                                                                              \
        METRALE_DEVICE(gpu, device);                                                               \
        return metrale::telemetry::read_text(*gpu, key, text, length);                             \
    }

#endif
