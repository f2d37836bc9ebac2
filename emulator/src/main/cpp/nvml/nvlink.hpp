#ifndef METRALE_EMULATOR_NVML_NVLINK_HPP
#define METRALE_EMULATOR_NVML_NVLINK_HPP

#include "state.hpp"

namespace metrale::telemetry
{

/* Invalid argument for a link that the device has not. */
nvmlReturn_t check_link(const Device &device, unsigned int link);

nvmlReturn_t read_link(const Device &device, unsigned int link, const char *what,
                       unsigned long long *value);

} // namespace metrale::telemetry

#endif
