/* What the parts of the shim share. */
#ifndef METRALE_IBV_INTERNAL_H
#define METRALE_IBV_INTERNAL_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "metrale_ibv.h"

/* For calls that report through errno alone. */
static inline int metrale_errno_failure(int saved_errno)
{
    return saved_errno > 0 ? -saved_errno : -EIO;
}

/* Both verbs conventions end here: an errno returned (positive, and negated by some providers),
 * or -1 with errno set. */
static inline int metrale_failure(int rc, int saved_errno)
{
    if (rc > 0)
        return -rc;
    if (rc < -1)
        return rc;
    return metrale_errno_failure(saved_errno);
}

static inline void *metrale_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

#endif
