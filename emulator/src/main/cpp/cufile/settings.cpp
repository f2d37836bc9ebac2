/* The same live view of the configuration that NVML has. */
#include "nvml/settings.cpp"
