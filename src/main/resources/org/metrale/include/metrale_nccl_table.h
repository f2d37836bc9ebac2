/* The run-time table of libnccl. */
#ifndef METRALE_NCCL_TABLE_H
#define METRALE_NCCL_TABLE_H
#ifndef METRALE_PARSER
#include <nccl.h>
#define METRALE_LIBRARY "nccl"
#define METRALE_FUNCTIONS "metrale_nccl_functions.h"
/* It counts. */
#define METRALE_BARE " ncclGroupStart  pncclGroupStart "
#endif
#include "metrale_table.h"
#ifndef METRALE_PARSER
/* NCCL's version code, or -1 if the library has no such function or it fails. */
static inline int metrale_table_version(void)
{
    int version = -1;

    if (!metrale_table_has("ncclGetVersion") || ncclGetVersion(&version) != ncclSuccess) {
        return -1;
    }
    return version;
}

/* One for each structure that the header has. */
static inline void metrale_initialize(ncclConfig_t *config)
{
    *config = NCCL_CONFIG_INITIALIZER;
}

#ifdef NCCL_SIM_INFO_INITIALIZER
static inline void metrale_initialize(ncclSimInfo_t *info)
{
    *info = NCCL_SIM_INFO_INITIALIZER;
}
#endif

#ifdef NCCL_COLLCONFIG_INITIALIZER
static inline void metrale_initialize(ncclCollConfig_t *config)
{
    *config = NCCL_COLLCONFIG_INITIALIZER;
}
#endif

#ifdef NCCL_ENCRYPTION_CONFIG_INITIALIZER
static inline void metrale_initialize(ncclEncryptionConfig_t *config)
{
    *config = NCCL_ENCRYPTION_CONFIG_INITIALIZER;
}
#endif
#endif
#endif
