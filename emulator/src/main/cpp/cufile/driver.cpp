#include "state.hpp"

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <fstream>

#include "common/library.h"
#include "common/profile.h"
#include "cuda.hpp"

METRALE_EMULATOR_LIBRARY(cufile, "metrale emulator cufile")

namespace metrale::gds
{
namespace
{

__attribute__((constructor)) void hide_what_is_asked_for()
{
    emulator::hide_configured_symbols();
    /* Read now, so that the file as it is at load time is known from later changes. */
    (void)telemetry::setting("cufile.version");
}

/* The way that this machine's GPUs offer; a part on the CPU's own memory has neither. */
bool gpu_can_do_gds()
{
    for (const emulator::Gpu &gpu : emulator::gpus())
        if (!gpu.gpudirect_rdma)
            return false;
    return true;
}

void write_log(const Parameters &parameters)
{
    if (!telemetry::setting_flag("cufile.log", false))
        return;
    const char *path = std::getenv("CUFILE_LOGFILE_PATH");
    const std::string &folder = parameters.texts[CUFILE_PARAM_LOG_DIR];
    const std::string name = path != nullptr && *path != '\0' ? std::string(path)
                             : folder.empty()                 ? std::string("cufile.log")
                                                              : folder + "/cufile.log";
    std::ofstream(name, std::ios::app) << std::time(nullptr) << " emulated cuFile driver opened\n";
}

/* With the lock held, and the count at zero. */
CUfileError_t open_driver(Library &target)
{
    if (!cuda_present())
        return error(CU_FILE_NVFS_SETUP_ERROR);
    const int cuda = cuda_init();
    if (cuda != 0)
        return error(CU_FILE_CUDA_DRIVER_ERROR, static_cast<CUresult>(cuda));
    const bool able = gpu_can_do_gds();
    const bool forced = compat_forced(target.parameters);
    target.nvfs = able && !forced && telemetry::setting_flag("cufile.nvidia_fs", true);
    target.p2pdma = able && !forced &&
                    (telemetry::setting_flag("cufile.p2pdma", false) ||
                     target.parameters.flags[CUFILE_PARAM_USE_PCIP2PDMA]);
    if (!target.nvfs && !target.p2pdma && !compat_allowed(target.parameters))
        return error(able ? CU_FILE_DRIVER_NOT_INITIALIZED : CU_FILE_DEVICE_NOT_SUPPORTED);
    write_log(target.parameters);
    return kSuccess;
}

CUfileError_t open_counted(Library &target)
{
    if (target.uses == 0) {
        const CUfileError_t opened = open_driver(target);
        if (opened.err != CU_FILE_SUCCESS)
            return opened;
    } else if (telemetry::setting_or("cufile.reopen", "count") == "error") {
        return error(CU_FILE_DRIVER_ALREADY_OPEN);
    }
    ++target.uses;
    return kSuccess;
}

CUfileError_t close_driver()
{
    Library &target = library();
    const std::lock_guard lock(target.mutex);
    if (target.uses == 0)
        return error(CU_FILE_DRIVER_NOT_INITIALIZED);
    if (target.active > 0)
        return error(CU_FILE_DRIVER_CLOSING);
    if (--target.uses == 0) {
        target.files.clear();
        target.buffers.clear();
        target.registered_bytes = 0;
        target.streams.clear();
        target.parameters = {};
        load_parameters(target.parameters);
    }
    return kSuccess;
}

std::unique_ptr<Library> make_library()
{
    auto fresh = std::make_unique<Library>();
    load_parameters(fresh->parameters);
    return fresh;
}

} // namespace

/* Never destroyed: streams and batches may still work while the process ends. */
Library &library()
{
    static Library *instance = make_library().release();
    return *instance;
}

bool fault_of(const char *function, int *code)
{
    const emulator::Fault fault = emulator::host_fault("cufile", function);
    if (!fault.code)
        return false;
    *code = *fault.code;
    return true;
}

CUfileOpError code_of(int number)
{
    constexpr int kLast = 8191; /* what the enumeration has room for */
    const long long positive = number < 0 ? -static_cast<long long>(number) : number;
    return positive > kLast ? CU_FILE_INTERNAL_ERROR : static_cast<CUfileOpError>(positive);
}

bool is_open()
{
    Library &target = library();
    const std::lock_guard lock(target.mutex);
    return target.uses > 0;
}

CUfileError_t open_implicitly()
{
    Library &target = library();
    const std::lock_guard lock(target.mutex);
    return target.uses > 0 ? kSuccess : open_counted(target);
}

Activity::Activity()
{
    Library &target = library();
    const std::lock_guard lock(target.mutex);
    open_ = target.uses > 0;
    if (open_)
        ++target.active;
}

Activity::~Activity()
{
    Library &target = library();
    const std::lock_guard lock(target.mutex);
    if (open_)
        --target.active;
}

} // namespace metrale::gds

using metrale::gds::error;
using metrale::gds::kSuccess;
using metrale::gds::library;

CUfileError_t cuFileDriverOpen(void)
{
    METRALE_GDS_FAULT();
    auto &target = library();
    const std::lock_guard lock(target.mutex);
    return metrale::gds::open_counted(target);
}

/* The header renames the first to the second; both are there for those who look them up. */
#undef cuFileDriverClose

CUfileError_t cuFileDriverClose(void)
{
    METRALE_GDS_FAULT();
    return metrale::gds::close_driver();
}

CUfileError_t cuFileDriverClose_v2(void)
{
    METRALE_GDS_FAULT();
    return metrale::gds::close_driver();
}

long cuFileUseCount(void)
{
    auto &target = library();
    const std::lock_guard lock(target.mutex);
    return target.uses;
}

CUfileError_t cuFileGetVersion(int *version)
{
    METRALE_GDS_FAULT();
    if (version == nullptr)
        return error(CU_FILE_INVALID_VALUE);
    *version = static_cast<int>(metrale::telemetry::setting_number("cufile.version", 1200));
    return kSuccess;
}
