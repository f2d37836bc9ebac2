#include "nccl/comm.h"

#include "common/library.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda.h>

using namespace metrale::emulator;
using namespace metrale::emulator::nccl;

METRALE_EMULATOR_LIBRARY(nccl, "metrale emulator: NCCL")

namespace
{

/* When a name came, for libraries that claim to be older. */
struct Since {
    int version;
    const char *names;
};

const Since kSince[] = {
    {21903, "ncclCommRegister ncclCommDeregister ncclMemAlloc ncclMemFree"},
    {22203, "ncclGroupSimulateEnd"},
    {22304, "ncclCommInitRankScalable"},
    {22703, "ncclCommShrink ncclCommWindowRegister ncclCommWindowDeregister"},
    {22803, "ncclAlltoAll ncclGather ncclScatter"},
    {22807, "ncclCommRevoke"},
    {22902, "ncclCommGetUniqueId ncclCommGrow ncclPutSignal ncclSignal ncclWaitSignal "
            "ncclWinGetUserPtr ncclCommQueryProperties"},
    {22907, "ncclCommSuspend ncclCommResume ncclCommMemStats"},
    {23004, "ncclParamBind ncclParamGetI8 ncclParamGetI16 ncclParamGetI32 ncclParamGetI64 "
            "ncclParamGetU8 ncclParamGetU16 ncclParamGetU32 ncclParamGetU64 ncclParamGetStr "
            "ncclParamGet ncclParamGetParameter ncclParamGetAllParameterKeys ncclParamDumpAll"},
    {23200, "ncclAllReduceConfig ncclBroadcastConfig ncclReduceConfig ncclAllGatherConfig "
            "ncclReduceScatterConfig ncclAlltoAllConfig ncclGatherConfig ncclScatterConfig "
            "ncclSetEncryption"},
};

__attribute__((constructor)) void on_load()
{
    std::vector<std::string> newer;
    if (Configuration::instance().flag("nccl.hide_newer", true)) {
        for (const Since &entry : kSince) {
            if (entry.version <= claimed_version())
                continue;
            for (const std::string &name : split(entry.names, ' ')) {
                newer.push_back(name);
                newer.push_back("p" + name);
            }
        }
    }
    hide_configured_symbols(newer);
}

struct LastError {
    std::mutex mutex;
    std::string text;
};

LastError &last_error()
{
    static LastError *only = new LastError();
    return *only;
}

} // namespace

namespace metrale::emulator::nccl
{

void remember(const std::string &text)
{
    {
        LastError &last = last_error();
        std::lock_guard<std::mutex> lock(last.mutex);
        last.text = text;
    }
    const char *debug = std::getenv("NCCL_DEBUG");
    if (debug != nullptr && std::strcmp(debug, "VERSION") != 0)
        std::fprintf(stderr, "NCCL WARN (emulated) %s\n", text.c_str());
}

ncclResult_t refuse(ncclResult_t result, const std::string &text)
{
    remember(text);
    return result;
}

ncclResult_t cuda_failure(int code, const char *what)
{
    const char *text = nullptr;
    cuGetErrorString(static_cast<CUresult>(code), &text);
    return refuse(ncclUnhandledCudaError, std::string("Cuda failure ") + std::to_string(code) +
                                              " '" + (text != nullptr ? text : "unknown") +
                                              "' in " + what);
}

int claimed_version()
{
    return static_cast<int>(Configuration::instance().number("nccl.version", NCCL_VERSION_CODE));
}

} // namespace metrale::emulator::nccl

ncclResult_t ncclGetVersion(int *version)
{
    Fault fault = host_fault("nccl", __func__);
    if (fault.code)
        return static_cast<ncclResult_t>(*fault.code);
    if (version == nullptr)
        return refuse(ncclInvalidArgument, "GetVersion : version argument is NULL");
    *version = claimed_version();
    return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    switch (static_cast<int>(result)) {
    case ncclSuccess:
        return "no error";
    case ncclUnhandledCudaError:
        return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
        return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
        return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
        return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
        return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
        return "remote process exited or there was a network error";
    case ncclInProgress:
        return "NCCL operation in progress";
    case ncclTimeout:
        return "NCCL operation timed out";
    default:
        return "unknown result code";
    }
}

const char *ncclGetLastError(ncclComm_t)
{
    // One text per process, as in the real library; the copy lives until the thread asks again.
    thread_local std::string copy;
    LastError &last = last_error();
    std::lock_guard<std::mutex> lock(last.mutex);
    copy = last.text;
    return copy.c_str();
}

#undef ncclResetDebugInit
#undef pncclResetDebugInit

// Deprecated, but still exported by the real library.
METRALE_EMULATOR_EXPORT void ncclResetDebugInit();
METRALE_EMULATOR_EXPORT void pncclResetDebugInit();

void ncclResetDebugInit()
{
}

void pncclResetDebugInit()
{
}

METRALE_PROFILED(ncclGetVersion);
METRALE_PROFILED(ncclGetErrorString);
METRALE_PROFILED(ncclGetLastError);
