/* The run-time table of libnvidia-ml. */
#ifndef METRALE_NVML_TABLE_H
#define METRALE_NVML_TABLE_H
#ifndef METRALE_PARSER
#include <nvml.h>
#define METRALE_LIBRARY "nvml"
#define METRALE_FUNCTIONS "metrale_nvml_functions.h"
#endif
#include "metrale_table.h"
#ifndef METRALE_PARSER
/* The CUDA version of the driver, or -1; NVML's own version is a text and needs a session. */
static inline int metrale_table_version(void)
{
    int version = -1;

    if (!metrale_table_has("nvmlSystemGetCudaDriverVersion_v2") ||
        nvmlSystemGetCudaDriverVersion_v2(&version) != NVML_SUCCESS) {
        return -1;
    }
    return version;
}

/* Writes the version word that NVML demands in a structure before it fills it. */
template <unsigned int version, class Structure>
static inline void metrale_set_version(Structure *structure)
{
    structure->version = version;
}
#endif
#endif
