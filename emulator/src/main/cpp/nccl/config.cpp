#include "nccl/comm.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace metrale::emulator::nccl
{

namespace
{

/* How much of the structure a library of some version knows: the rest is not looked at. */
size_t known_bytes(int version)
{
    struct Step {
        int version;
        size_t bytes;
    };
    const Step steps[] = {
        {21400, offsetof(ncclConfig_t, cgaClusterSize)},
        {21700, offsetof(ncclConfig_t, trafficClass)},
        {22600, offsetof(ncclConfig_t, commName)},
        {22700, offsetof(ncclConfig_t, nChannelsPerNetPeer)},
        {22800, offsetof(ncclConfig_t, graphUsageMode)},
        {22900, offsetof(ncclConfig_t, maxP2pPeers)},
        {23000, offsetof(ncclConfig_t, graphStreamOrdering)},
        {23005, offsetof(ncclConfig_t, launchOrderImplicit)},
    };
    // Since 2.31 all of it.
    size_t bytes = version >= 23100 ? sizeof(ncclConfig_t) : steps[0].bytes;
    for (const Step &step : steps) {
        if (version < 23100 && version >= step.version)
            bytes = step.bytes;
    }
    return bytes;
}

bool set(int value)
{
    return value != NCCL_CONFIG_UNDEF_INT;
}

bool boolean(int value)
{
    return !set(value) || value == 0 || value == 1;
}

bool positive(int value)
{
    return !set(value) || value > 0;
}

ncclResult_t bad(const char *field, int value)
{
    return refuse(ncclInvalidArgument, std::string("Invalid config ") + field +
                                           " attribute value " + std::to_string(value));
}

ncclResult_t check(const ncclConfig_t &config)
{
    if (!boolean(config.blocking))
        return bad("blocking", config.blocking);
    if (set(config.cgaClusterSize) && config.cgaClusterSize < 0)
        return bad("cgaClusterSize", config.cgaClusterSize);
    if (!positive(config.minCTAs))
        return bad("minCTAs", config.minCTAs);
    if (!positive(config.maxCTAs))
        return bad("maxCTAs", config.maxCTAs);
    if (set(config.minCTAs) && set(config.maxCTAs) && config.minCTAs > config.maxCTAs)
        return bad("min/max channels", config.minCTAs);
    if (!boolean(config.splitShare))
        return bad("splitShare", config.splitShare);
    if (set(config.collnetEnable) && !boolean(config.collnetEnable))
        return bad("collnetEnable", config.collnetEnable);
    if (set(config.CTAPolicy) && (config.CTAPolicy < 0 || config.CTAPolicy > 3))
        return bad("CTAPolicy", config.CTAPolicy);
    if (!boolean(config.shrinkShare))
        return bad("shrinkShare", config.shrinkShare);
    if (!positive(config.nvlsCTAs))
        return bad("nvlsCTAs", config.nvlsCTAs);
    if (!positive(config.nChannelsPerNetPeer))
        return bad("nChannelsPerNetPeer", config.nChannelsPerNetPeer);
    if (!boolean(config.nvlinkCentricSched))
        return bad("nvlinkCentricSched", config.nvlinkCentricSched);
    if (set(config.graphUsageMode) && (config.graphUsageMode < 0 || config.graphUsageMode > 2))
        return bad("graphUsageMode", config.graphUsageMode);
    if (set(config.numRmaCtx) && config.numRmaCtx < 0)
        return bad("numRmaCtx", config.numRmaCtx);
    if (!positive(config.maxP2pPeers))
        return bad("maxP2pPeers", config.maxP2pPeers);
    if (!boolean(config.graphStreamOrdering))
        return bad("graphStreamOrdering", config.graphStreamOrdering);
    return ncclSuccess;
}

/* What the user left open is the parent's choice, else the default. */
void complete(ncclConfig_t &config, const ncclConfig_t *parent)
{
    ncclConfig_t defaults = NCCL_CONFIG_INITIALIZER;
    defaults.blocking = 1;
    if (parent == nullptr)
        parent = &defaults;
    if (!set(config.blocking))
        config.blocking = parent->blocking;
    if (!set(config.splitShare))
        config.splitShare = 0;
    if (!set(config.shrinkShare))
        config.shrinkShare = 0;
    if (!set(config.numRmaCtx))
        config.numRmaCtx = set(parent->numRmaCtx) ? parent->numRmaCtx : 1;
    if (!set(config.numRmaSig))
        config.numRmaSig = set(parent->numRmaSig) ? parent->numRmaSig : 1;
}

} // namespace

ncclResult_t parse_config(const ncclConfig_t *user, const ncclConfig_t *parent, ncclConfig_t *out)
{
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    if (user != nullptr) {
        if (user->magic != NCCL_API_MAGIC)
            return refuse(ncclInvalidArgument, "ncclConfig_t argument not initialized via "
                                               "NCCL_CONFIG_INITIALIZER");
        size_t least = offsetof(ncclConfig_t, blocking);
        size_t known = known_bytes(claimed_version());
        if (user->size < least)
            return refuse(ncclInvalidArgument, "ncclConfig_t argument has an impossible size");
        size_t bytes = std::min(user->size, known);
        std::memcpy(&config, user, bytes);
    } else if (parent != nullptr) {
        config = *parent;
    }
    ncclResult_t result = check(config);
    if (result != ncclSuccess)
        return result;
    complete(config, parent);
    // Texts belong to the caller and are not needed after this.
    config.netName = nullptr;
    config.commName = nullptr;
    *out = config;
    return ncclSuccess;
}

ncclResult_t check_collective_config(const ncclCollConfig_t *config)
{
    if (config == nullptr)
        return ncclSuccess;
    if (config->magic != NCCL_API_MAGIC)
        return refuse(ncclInvalidArgument, "ncclCollConfig_t argument not initialized via "
                                           "NCCL_COLLCONFIG_INITIALIZER");
    if (config->size < sizeof(*config))
        return refuse(ncclInvalidArgument, "ncclCollConfig_t argument has an impossible size");
    if (!positive(config->minCTAs))
        return bad("minCTAs", config->minCTAs);
    if (!positive(config->maxCTAs))
        return bad("maxCTAs", config->maxCTAs);
    if (set(config->minCTAs) && set(config->maxCTAs) && config->minCTAs > config->maxCTAs)
        return bad("min/max channels", config->minCTAs);
    if (!positive(config->nvlsCTAs))
        return bad("nvlsCTAs", config->nvlsCTAs);
    if (set(config->CTAPolicy) && (config->CTAPolicy < 0 || config->CTAPolicy > 3))
        return bad("CTAPolicy", config->CTAPolicy);
    return ncclSuccess;
}

} // namespace metrale::emulator::nccl
