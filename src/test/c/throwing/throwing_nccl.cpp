/*
 * Stands before an NCCL that it is linked to and has some of its functions, of which the one that
 * METRALE_TEST_THROWS names throws a C++ exception: of a rank alone, with
 * METRALE_TEST_THROWING_RANK, where a rank is said. A communicator that is just being made is left
 * with a handle that nobody can use.
 */
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

#include <dlfcn.h>
#include <nccl.h>

#define METRALE_EXPORT extern "C" __attribute__((visibility("default")))

namespace
{

bool throws(const char *function)
{
    const char *wanted = std::getenv("METRALE_TEST_THROWS");
    return wanted != nullptr && std::strcmp(wanted, function) == 0;
}

template <class Function> Function *next(const char *function)
{
    return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, function));
}

} // namespace

METRALE_EXPORT ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    if (throws(__func__)) {
        throw std::bad_alloc();
    }
    return next<decltype(ncclGetUniqueId)>(__func__)(id);
}

METRALE_EXPORT ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int ranks, ncclUniqueId id,
                                                   int rank, ncclConfig_t *config)
{
    const char *wanted = std::getenv("METRALE_TEST_THROWING_RANK");
    if (throws(__func__) && (wanted == nullptr || std::atoi(wanted) == rank)) {
        *comm = reinterpret_cast<ncclComm_t>(static_cast<uintptr_t>(16));
        throw std::bad_alloc();
    }
    return next<decltype(ncclCommInitRankConfig)>(__func__)(comm, ranks, id, rank, config);
}

METRALE_EXPORT ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t *child,
                                          ncclConfig_t *config)
{
    if (throws(__func__)) {
        *child = reinterpret_cast<ncclComm_t>(static_cast<uintptr_t>(16));
        throw std::bad_alloc();
    }
    return next<decltype(ncclCommSplit)>(__func__)(comm, color, key, child, config);
}

METRALE_EXPORT ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
    if (throws(__func__)) {
        throw std::bad_alloc();
    }
    return next<decltype(ncclCommFinalize)>(__func__)(comm);
}

METRALE_EXPORT ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
    if (throws(__func__)) {
        throw std::bad_alloc();
    }
    return next<decltype(ncclCommDestroy)>(__func__)(comm);
}

METRALE_EXPORT ncclResult_t ncclCommAbort(ncclComm_t comm)
{
    if (throws(__func__)) {
        throw std::bad_alloc();
    }
    return next<decltype(ncclCommAbort)>(__func__)(comm);
}

METRALE_EXPORT ncclResult_t ncclAllReduce(const void *send, void *recv, size_t count,
                                          ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                                          cudaStream_t stream)
{
    if (throws(__func__)) {
        throw std::bad_alloc();
    }
    return next<decltype(ncclAllReduce)>(__func__)(send, recv, count, type, op, comm, stream);
}

METRALE_EXPORT ncclResult_t ncclGroupEnd()
{
    const ncclResult_t result = next<decltype(ncclGroupEnd)>(__func__)();

    if (throws(__func__)) {
        throw std::bad_alloc();
    }
    return result;
}
