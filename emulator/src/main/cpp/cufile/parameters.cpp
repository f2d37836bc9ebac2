#include "state.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "cuda.hpp"

/* Parameters and properties. They can be changed while the driver is closed. */

namespace metrale::gds
{
namespace
{

struct Size {
    std::size_t initial;
    std::size_t minimum;
    std::size_t maximum;
};

/* By CUFileSizeTConfigParameter_t; the limits are those that version 1.20 tells. */
constexpr Size kSizes[] = {
    {0, 0, 0},
    {128, 1, 256},
    {8, 0, 128},
    {1024, 4, 4294967295ULL},
    {4, 0, 8},
    {16384, 64, 16384},
    {131072, 0, 4194304},
    {1024, 64, 16384},
    {33554432, 64, 4294967292ULL},
    {128, 1, 256},
    {4, 4, 18014398509481980ULL},
    {5, 1, 1000},
};

struct JsonFlag {
    const char *name;
    CUFileBoolConfigParameter_t parameter;
};

constexpr JsonFlag kJsonFlags[] = {
    {"allow_compat_mode", CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE},
    {"force_compat_mode", CUFILE_PARAM_FORCE_COMPAT_MODE},
    {"use_poll_mode", CUFILE_PARAM_PROPERTIES_USE_POLL_MODE},
    {"use_pci_p2pdma", CUFILE_PARAM_USE_PCIP2PDMA},
    {"parallel_io", CUFILE_PARAM_EXECUTION_PARALLEL_IO},
};

/* Finds `"name" : true` wherever it stands; sections do not repeat a name. */
void read_json(Parameters &parameters, const char *path)
{
    std::ifstream file(path);
    std::ostringstream content;
    content << file.rdbuf();
    const std::string text = content.str();
    for (const JsonFlag &known : kJsonFlags) {
        std::size_t at = text.find('"' + std::string(known.name) + '"');
        if (at == std::string::npos)
            continue;
        at = text.find(':', at);
        at = at == std::string::npos ? at : text.find_first_not_of(" \t\r\n", at + 1);
        if (at != std::string::npos)
            parameters.flags[known.parameter] = text.compare(at, 4, "true") == 0;
    }
}

void read_variable(bool &flag, const char *name)
{
    const char *value = std::getenv(name);
    if (value != nullptr && *value != '\0')
        flag = std::strcmp(value, "true") == 0 || std::strcmp(value, "1") == 0;
}

/* With the lock held by the caller. */
template <typename Change> CUfileError_t stage(Change change)
{
    Library &target = library();
    const std::lock_guard lock(target.mutex);
    if (target.uses > 0)
        return error(CU_FILE_DRIVER_ALREADY_OPEN);
    change(target.parameters);
    return kSuccess;
}

bool ascending_pages(const std::size_t *sizes, int count)
{
    for (int i = 0; i < count; ++i)
        if (sizes[i] == 0 || sizes[i] % 4 != 0 || (i > 0 && sizes[i] <= sizes[i - 1]))
            return false;
    return true;
}

CUfileError_t set_slabs(std::vector<std::size_t> Parameters::*sizes_of,
                        std::vector<std::size_t> Parameters::*counts_of, const std::size_t *sizes,
                        const std::size_t *counts, int count)
{
    if (sizes == nullptr || counts == nullptr || count <= 0 || count > 64 ||
        !ascending_pages(sizes, count))
        return error(CU_FILE_INVALID_VALUE);
    return stage([&](Parameters &parameters) {
        (parameters.*sizes_of).assign(sizes, sizes + count);
        (parameters.*counts_of).assign(counts, counts + count);
    });
}

CUfileError_t get_slabs(std::vector<std::size_t> Parameters::*sizes_of,
                        std::vector<std::size_t> Parameters::*counts_of, std::size_t *sizes,
                        std::size_t *counts, int count)
{
    Library &target = library();
    const std::lock_guard lock(target.mutex);
    const auto &from_sizes = target.parameters.*sizes_of;
    const auto &from_counts = target.parameters.*counts_of;
    if (sizes == nullptr || counts == nullptr || from_sizes.empty() || count <= 0 ||
        static_cast<std::size_t>(count) != from_sizes.size())
        return error(CU_FILE_INVALID_VALUE);
    std::copy(from_sizes.begin(), from_sizes.end(), sizes);
    std::copy(from_counts.begin(), from_counts.end(), counts);
    return kSuccess;
}

bool known_flag(CUFileBoolConfigParameter_t parameter)
{
    const auto number = static_cast<unsigned int>(parameter);
    return number <= CUFILE_PARAM_GDS_FALLBACK_IO && number != CUFILE_PARAM_PROFILE_NVTX;
}

/* A size in KB that the driver is told before it is opened; later it changes nothing. */
CUfileError_t set_kilobytes(CUFileSizeTConfigParameter_t parameter, std::size_t value,
                            bool needs_gpu)
{
    if (needs_gpu) {
        const int cuda = cuda_present() ? cuda_init() : CUDA_ERROR_NOT_INITIALIZED;
        if (cuda != 0)
            return error(CU_FILE_CUDA_DRIVER_ERROR, static_cast<CUresult>(cuda));
    }
    if (value == 0 || value % 4 != 0)
        return error(CU_FILE_INVALID_VALUE);
    if (value < kSizes[parameter].minimum || value > kSizes[parameter].maximum)
        return error(needs_gpu ? CU_FILE_DRIVER_UNSUPPORTED_LIMIT : CU_FILE_INVALID_VALUE);
    Library &target = library();
    const std::lock_guard lock(target.mutex);
    if (target.uses == 0)
        target.parameters.sizes[parameter] = value;
    return kSuccess;
}

void fill_properties(const Library &source, CUfileDrvProps_t &properties)
{
    const Parameters &parameters = source.parameters;
    const bool open = source.uses > 0;
    properties = {};
    if (open && source.nvfs) {
        properties.nvfs.major_version = 2;
        properties.nvfs.minor_version = 28;
    }
    if (open && (source.nvfs || source.p2pdma))
        properties.nvfs.dstatusflags = 1U << CU_FILE_NVME_SUPPORTED;
    properties.nvfs.poll_thresh_size = parameters.sizes[CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB];
    properties.nvfs.max_direct_io_size =
        parameters.sizes[CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB];
    if (parameters.flags[CUFILE_PARAM_PROPERTIES_USE_POLL_MODE])
        properties.nvfs.dcontrolflags |= 1U << CU_FILE_USE_POLL_MODE;
    if (compat_allowed(parameters))
        properties.nvfs.dcontrolflags |= 1U << CU_FILE_ALLOW_COMPAT_MODE;
    if (open)
        properties.fflags = 1U << CU_FILE_BATCH_IO_SUPPORTED | 1U << CU_FILE_STREAMS_SUPPORTED |
                            1U << CU_FILE_PARALLEL_IO_SUPPORTED;
    if (open && source.p2pdma)
        properties.fflags |= 1U << CU_FILE_P2P_SUPPORTED;
    const auto size = [&](CUFileSizeTConfigParameter_t parameter) {
        return static_cast<unsigned int>(parameters.sizes[parameter]);
    };
    properties.max_device_cache_size = size(CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB);
    properties.per_buffer_cache_size = size(CUFILE_PARAM_PROPERTIES_PER_BUFFER_CACHE_SIZE_KB);
    properties.max_device_pinned_mem_size =
        size(CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB);
    properties.max_batch_io_size = size(CUFILE_PARAM_PROPERTIES_IO_BATCHSIZE);
    properties.max_batch_io_timeout_msecs = size(CUFILE_PARAM_PROPERTIES_BATCH_IO_TIMEOUT_MS);
}

} // namespace

void load_parameters(Parameters &parameters)
{
    for (std::size_t i = 0; i < parameters.sizes.size(); ++i)
        parameters.sizes[i] = kSizes[i].initial;
    parameters.flags[CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE] =
        telemetry::setting_flag("cufile.allow_compat_mode", true);
    parameters.flags[CUFILE_PARAM_EXECUTION_PARALLEL_IO] = true;
    parameters.flags[CUFILE_PARAM_PROPERTIES_ALLOW_SYSTEM_MEMORY] = true;
    parameters.texts[CUFILE_PARAM_LOGGING_LEVEL] = "ERROR";
    parameters.texts[CUFILE_PARAM_RDMA_TRANSPORT] = "DC_V1";
    const char *json = std::getenv("CUFILE_ENV_PATH_JSON");
    if (json != nullptr && *json != '\0')
        read_json(parameters, json);
    read_variable(parameters.flags[CUFILE_PARAM_FORCE_COMPAT_MODE], "CUFILE_FORCE_COMPAT_MODE");
    read_variable(parameters.flags[CUFILE_PARAM_USE_PCIP2PDMA], "CUFILE_USE_PCIP2PDMA");
    const char *level = std::getenv("CUFILE_LOGGING_LEVEL");
    if (level != nullptr)
        parameters.texts[CUFILE_PARAM_LOGGING_LEVEL] = level;
}

bool compat_allowed(const Parameters &parameters)
{
    return parameters.flags[CUFILE_PARAM_PROPERTIES_ALLOW_COMPAT_MODE];
}

bool compat_forced(const Parameters &parameters)
{
    return parameters.flags[CUFILE_PARAM_FORCE_COMPAT_MODE];
}

} // namespace metrale::gds

using metrale::gds::error;
using metrale::gds::kSizes;
using metrale::gds::kSuccess;
using metrale::gds::library;
using metrale::gds::Parameters;

CUfileError_t cuFileDriverGetProperties(CUfileDrvProps_t *properties)
{
    METRALE_GDS_FAULT();
    if (properties == nullptr)
        return error(CU_FILE_INVALID_VALUE);
    auto &target = library();
    const std::lock_guard lock(target.mutex);
    metrale::gds::fill_properties(target, *properties);
    return kSuccess;
}

CUfileError_t cuFileDriverSetPollMode(bool poll, size_t threshold)
{
    METRALE_GDS_FAULT();
    const CUfileError_t answer =
        metrale::gds::set_kilobytes(CUFILE_PARAM_POLLTHRESHOLD_SIZE_KB, threshold, false);
    auto &target = library();
    const std::lock_guard lock(target.mutex);
    if (answer.err == CU_FILE_SUCCESS && target.uses == 0)
        target.parameters.flags[CUFILE_PARAM_PROPERTIES_USE_POLL_MODE] = poll;
    return answer;
}

CUfileError_t cuFileDriverSetMaxDirectIOSize(size_t kilobytes)
{
    METRALE_GDS_FAULT();
    return metrale::gds::set_kilobytes(CUFILE_PARAM_PROPERTIES_MAX_DIRECT_IO_SIZE_KB, kilobytes,
                                       false);
}

CUfileError_t cuFileDriverSetMaxCacheSize(size_t kilobytes)
{
    METRALE_GDS_FAULT();
    return metrale::gds::set_kilobytes(CUFILE_PARAM_PROPERTIES_MAX_DEVICE_CACHE_SIZE_KB, kilobytes,
                                       true);
}

CUfileError_t cuFileDriverSetMaxPinnedMemSize(size_t kilobytes)
{
    METRALE_GDS_FAULT();
    return metrale::gds::set_kilobytes(CUFILE_PARAM_PROPERTIES_MAX_DEVICE_PINNED_MEM_SIZE_KB,
                                       kilobytes, true);
}

CUfileError_t cuFileGetParameterSizeT(CUFileSizeTConfigParameter_t parameter, size_t *value)
{
    METRALE_GDS_FAULT();
    if (value == nullptr || static_cast<unsigned int>(parameter) >= std::size(kSizes))
        return error(CU_FILE_INVALID_VALUE);
    auto &target = library();
    const std::lock_guard lock(target.mutex);
    *value = target.parameters.sizes[parameter];
    return kSuccess;
}

CUfileError_t cuFileGetParameterBool(CUFileBoolConfigParameter_t parameter, bool *value)
{
    METRALE_GDS_FAULT();
    if (value == nullptr || !metrale::gds::known_flag(parameter))
        return error(CU_FILE_INVALID_VALUE);
    auto &target = library();
    const std::lock_guard lock(target.mutex);
    *value = target.parameters.flags[parameter];
    return kSuccess;
}

CUfileError_t cuFileGetParameterString(CUFileStringConfigParameter_t parameter, char *text,
                                       int length)
{
    METRALE_GDS_FAULT();
    if (text == nullptr || length <= 0 || static_cast<unsigned int>(parameter) > 3)
        return error(CU_FILE_INVALID_VALUE);
    auto &target = library();
    const std::lock_guard lock(target.mutex);
    std::string value = target.parameters.texts[parameter];
    const char *log = std::getenv("CUFILE_LOGFILE_PATH");
    if (parameter == CUFILE_PARAM_ENV_LOGFILE_PATH && value.empty() && log == nullptr)
        return error(CU_FILE_INVALID_VALUE);
    if (parameter == CUFILE_PARAM_ENV_LOGFILE_PATH && value.empty())
        value = log;
    if (value.size() >= static_cast<std::size_t>(length))
        return error(CU_FILE_INVALID_VALUE);
    std::memcpy(text, value.c_str(), value.size() + 1);
    return kSuccess;
}

CUfileError_t cuFileGetParameterMinMaxValue(CUFileSizeTConfigParameter_t parameter, size_t *minimum,
                                            size_t *maximum)
{
    METRALE_GDS_FAULT();
    if (minimum == nullptr || maximum == nullptr || parameter == CUFILE_PARAM_PROFILE_STATS ||
        static_cast<unsigned int>(parameter) >= std::size(kSizes))
        return error(CU_FILE_INVALID_VALUE);
    *minimum = kSizes[parameter].minimum;
    *maximum = kSizes[parameter].maximum;
    return kSuccess;
}

CUfileError_t cuFileSetParameterSizeT(CUFileSizeTConfigParameter_t parameter, size_t value)
{
    METRALE_GDS_FAULT();
    if (static_cast<unsigned int>(parameter) >= std::size(kSizes))
        return error(CU_FILE_INVALID_VALUE);
    return metrale::gds::stage([&](Parameters &staged) { staged.sizes[parameter] = value; });
}

CUfileError_t cuFileSetParameterBool(CUFileBoolConfigParameter_t parameter, bool value)
{
    METRALE_GDS_FAULT();
    if (!metrale::gds::known_flag(parameter))
        return error(CU_FILE_INVALID_VALUE);
    return metrale::gds::stage([&](Parameters &staged) { staged.flags[parameter] = value; });
}

CUfileError_t cuFileSetParameterString(CUFileStringConfigParameter_t parameter, const char *text)
{
    METRALE_GDS_FAULT();
    if (text == nullptr || static_cast<unsigned int>(parameter) > 3)
        return error(CU_FILE_INVALID_VALUE);
    return metrale::gds::stage([&](Parameters &staged) { staged.texts[parameter] = text; });
}

CUfileError_t cuFileSetParameterPosixPoolSlabArray(const size_t *sizes, const size_t *counts,
                                                   int count)
{
    METRALE_GDS_FAULT();
    return metrale::gds::set_slabs(&Parameters::posix_sizes, &Parameters::posix_counts, sizes,
                                   counts, count);
}

CUfileError_t cuFileGetParameterPosixPoolSlabArray(size_t *sizes, size_t *counts, int count)
{
    METRALE_GDS_FAULT();
    return metrale::gds::get_slabs(&Parameters::posix_sizes, &Parameters::posix_counts, sizes,
                                   counts, count);
}

CUfileError_t cuFileSetParameterGpuBounceBufferSlabArray(const size_t *sizes, const size_t *counts,
                                                         int count)
{
    METRALE_GDS_FAULT();
    return metrale::gds::set_slabs(&Parameters::bounce_sizes, &Parameters::bounce_counts, sizes,
                                   counts, count);
}

CUfileError_t cuFileGetParameterGpuBounceBufferSlabArray(size_t *sizes, size_t *counts, int count)
{
    METRALE_GDS_FAULT();
    return metrale::gds::get_slabs(&Parameters::bounce_sizes, &Parameters::bounce_counts, sizes,
                                   counts, count);
}
