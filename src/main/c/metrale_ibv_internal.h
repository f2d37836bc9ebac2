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

/* The library refused without saying which request: Soft-RoCE's does when the requests are queued
 * and the kernel cannot be told of them. The device may have them all, so all count as taken; a
 * queue that is merely full would have been said at its request. */
static inline int metrale_not_said_which(int rc, uint32_t *done, uint32_t n)
{
    *done += n;
    return rc == -ENOMEM ? -EIO : rc;
}

static inline void *metrale_pointer(uint64_t address)
{
    return (void *)(uintptr_t)address;
}

#endif
