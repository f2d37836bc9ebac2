#include "common/library.h"
#include "state.hpp"

#include <fstream>

METRALE_EMULATOR_LIBRARY(nvml, "metrale emulator nvml")

namespace
{

__attribute__((constructor)) void hide_what_the_driver_lacks()
{
    metrale::emulator::hide_configured_symbols(
        metrale::telemetry::functions_after(metrale::telemetry::current_driver().major));
}

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> prefixes)
{
    for (const std::string_view prefix : prefixes)
        if (name.starts_with(prefix))
            return true;
    return false;
}

} // namespace

using metrale::telemetry::copy_text;
using metrale::telemetry::current_driver;
using metrale::telemetry::enter;
using metrale::telemetry::enter_before_init;

/* What a function without a model answers; what changes the machine needs rights that nobody has
 * here. */
extern "C" int metrale_nvml_not_modelled(const char *function);
extern "C" int metrale_nvml_not_modelled(const char *function)
{
    METRALE_TRY(enter(function));
    const bool changes =
        starts_with_any(function, {"nvmlDeviceSet", "nvmlDeviceReset", "nvmlDeviceClear",
                                   "nvmlDeviceFreeze", "nvmlDeviceCreate", "nvmlDeviceModify",
                                   "nvmlDeviceRemove", "nvmlSystemSet", "nvmlUnitSet"});
    return changes ? NVML_ERROR_NO_PERMISSION : NVML_ERROR_NOT_SUPPORTED;
}

NVML_API nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    METRALE_TRY(enter_before_init(__func__));
    return metrale::telemetry::initialize(flags);
}

NVML_API nvmlReturn_t nvmlInit_v2(void)
{
    METRALE_TRY(enter_before_init(__func__));
    return metrale::telemetry::initialize(0);
}

NVML_API nvmlReturn_t nvmlInit(void)
{
    METRALE_TRY(enter_before_init(__func__));
    return metrale::telemetry::initialize(0);
}

NVML_API nvmlReturn_t nvmlShutdown(void)
{
    METRALE_TRY(enter_before_init(__func__));
    return metrale::telemetry::shut_down();
}

NVML_API const char *nvmlErrorString(nvmlReturn_t result)
{
    switch (result) {
    case NVML_SUCCESS:
        return "Success";
    case NVML_ERROR_UNINITIALIZED:
        return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT:
        return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED:
        return "Not Supported";
    case NVML_ERROR_NO_PERMISSION:
        return "Insufficient Permissions";
    case NVML_ERROR_ALREADY_INITIALIZED:
        return "Already Initialized";
    case NVML_ERROR_NOT_FOUND:
        return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE:
        return "Insufficient Size";
    case NVML_ERROR_INSUFFICIENT_POWER:
        return "Insufficient External Power";
    case NVML_ERROR_DRIVER_NOT_LOADED:
        return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT:
        return "Timeout";
    case NVML_ERROR_IRQ_ISSUE:
        return "Interrupt Request Issue";
    case NVML_ERROR_LIBRARY_NOT_FOUND:
        return "NVML Shared Library Not Found";
    case NVML_ERROR_FUNCTION_NOT_FOUND:
        return "Function Not Found";
    case NVML_ERROR_CORRUPTED_INFOROM:
        return "Corrupted infoROM";
    case NVML_ERROR_GPU_IS_LOST:
        return "GPU is lost";
    case NVML_ERROR_RESET_REQUIRED:
        return "GPU requires reset";
    case NVML_ERROR_OPERATING_SYSTEM:
        return "GPU access blocked by the operating system";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        return "Driver/library version mismatch";
    case NVML_ERROR_IN_USE:
        return "In use by another client";
    case NVML_ERROR_MEMORY:
        return "Insufficient Memory";
    case NVML_ERROR_NO_DATA:
        return "No Data";
    case NVML_ERROR_VGPU_ECC_NOT_SUPPORTED:
        return "ECC of this vGPU not supported";
    case NVML_ERROR_INSUFFICIENT_RESOURCES:
        return "Insufficient Resources";
    case NVML_ERROR_FREQ_NOT_SUPPORTED:
        return "Frequency not supported";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH:
        return "Argument version mismatch";
    case NVML_ERROR_DEPRECATED:
        return "Deprecated";
    case NVML_ERROR_NOT_READY:
        return "Not Ready";
    case NVML_ERROR_GPU_NOT_FOUND:
        return "GPU Not Found";
    case NVML_ERROR_INVALID_STATE:
        return "Invalid State";
    case NVML_ERROR_RESET_TYPE_NOT_SUPPORTED:
        return "Reset type not supported";
    case NVML_ERROR_UNKNOWN:
        return "Unknown Error";
    }
    return "Unknown Error";
}

NVML_API nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    METRALE_TRY(enter(__func__));
    return copy_text(current_driver().version, version, length);
}

NVML_API nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
    METRALE_TRY(enter_before_init(__func__));
    return copy_text(current_driver().nvml, version, length);
}

NVML_API nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version)
{
    METRALE_TRY(enter_before_init(__func__));
    METRALE_ARGUMENT(version != nullptr);
    *version = current_driver().cuda;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    METRALE_TRY(enter_before_init(__func__));
    METRALE_ARGUMENT(version != nullptr);
    *version = current_driver().cuda;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlSystemGetDriverBranch(nvmlSystemDriverBranchInfo_t *info,
                                                unsigned int length)
{
    METRALE_TRY(enter(__func__));
    METRALE_ARGUMENT(info != nullptr && length > 0);
    if (!metrale::telemetry::has_version(info, 1))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    const unsigned int room = static_cast<unsigned int>(sizeof(info->branch));
    const std::string branch =
        std::to_string(current_driver().major).append("_00").insert(0, 1, 'r');
    return copy_text(branch, info->branch, length < room ? length : room);
}

/* The first word of the command line, of this machine's own processes. */
NVML_API nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
    METRALE_TRY(enter(__func__));
    METRALE_ARGUMENT(name != nullptr && length > 0);
    const std::string id = std::to_string(pid);
    std::string command = metrale::telemetry::setting_or("nvml.process." + id + ".name", "");
    if (command.empty()) {
        std::ifstream file("/proc/" + id + "/cmdline");
        std::getline(file, command, '\0');
    }
    if (command.empty())
        return NVML_ERROR_NOT_FOUND;
    return copy_text(std::string_view(command).substr(0, length - 1), name, length);
}

NVML_API nvmlReturn_t nvmlSystemGetHicVersion(unsigned int *count, nvmlHwbcEntry_t *)
{
    METRALE_TRY(enter(__func__));
    METRALE_ARGUMENT(count != nullptr);
    *count = 0;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlUnitGetCount(unsigned int *count)
{
    METRALE_TRY(enter(__func__));
    METRALE_ARGUMENT(count != nullptr);
    *count = 0;
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlGetExcludedDeviceCount(unsigned int *count)
{
    METRALE_TRY(enter_before_init(__func__));
    METRALE_ARGUMENT(count != nullptr);
    *count = 0;
    return NVML_SUCCESS;
}
