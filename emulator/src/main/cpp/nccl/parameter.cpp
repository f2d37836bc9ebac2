#include "nccl/group.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

using namespace metrale::emulator;
using namespace metrale::emulator::nccl;

/* A parameter is what the environment says, read when it is asked for. */
struct ncclParamHandle {
    const char *key;
    const char *initial;
    bool number;
};

namespace
{

ncclParamHandle parameters[] = {
    {"NCCL_ALGO", "", false},
    {"NCCL_BUFFSIZE", "4194304", true},
    {"NCCL_CHECK_POINTERS", "0", true},
    {"NCCL_CUMEM_ENABLE", "1", true},
    {"NCCL_DEBUG", "", false},
    {"NCCL_IB_DISABLE", "0", true},
    {"NCCL_IB_HCA", "", false},
    {"NCCL_IB_TIMEOUT", "20", true},
    {"NCCL_LAUNCH_MODE", "PARALLEL", false},
    {"NCCL_MAX_CTAS", "-1", true},
    {"NCCL_MIN_CTAS", "-1", true},
    {"NCCL_NET", "", false},
    {"NCCL_NTHREADS", "-2", true},
    {"NCCL_P2P_DISABLE", "0", true},
    {"NCCL_PROTO", "", false},
    {"NCCL_SHM_DISABLE", "0", true},
    {"NCCL_SOCKET_IFNAME", "", false},
};

ncclParamHandle *find(const char *key)
{
    if (key == nullptr)
        return nullptr;
    for (ncclParamHandle &parameter : parameters) {
        if (std::strcmp(parameter.key, key) == 0)
            return &parameter;
    }
    return nullptr;
}

/* Handles are ours or nonsense: compared, not followed. */
bool known(ncclParamHandle_t handle)
{
    return std::any_of(std::begin(parameters), std::end(parameters),
                       [&](const ncclParamHandle &entry) { return &entry == handle; });
}

const char *value_of(const ncclParamHandle &parameter)
{
    const char *value = std::getenv(parameter.key);
    return value != nullptr ? value : parameter.initial;
}

template <typename T> ncclResult_t get_number(ncclParamHandle_t handle, T *out)
{
    return guarded([&]() -> ncclResult_t {
        long long value = 0;
        if (out == nullptr || !known(handle))
            return refuse(ncclInvalidArgument, "ParamGet : unknown handle");
        if (!handle->number || !parse_number(value_of(*handle), &value))
            return refuse(ncclInvalidArgument, "ParamGet : the parameter is not a number");
        bool fits =
            std::numeric_limits<T>::is_signed
                ? value >= static_cast<long long>(std::numeric_limits<T>::min()) &&
                      value <= static_cast<long long>(std::numeric_limits<T>::max())
                : value >= 0 && static_cast<unsigned long long>(value) <=
                                    static_cast<unsigned long long>(std::numeric_limits<T>::max());
        if (!fits)
            return refuse(ncclInvalidArgument, "ParamGet : the value does not fit the type");
        *out = static_cast<T>(value);
        return ncclSuccess;
    });
}

} // namespace

ncclResult_t ncclParamBind(ncclParamHandle_t *out, const char *key)
{
    return guarded([&]() -> ncclResult_t {
        Fault fault = host_fault("nccl", "ncclParamBind");
        if (fault.code)
            return refuse(static_cast<ncclResult_t>(*fault.code), "fault asked for");
        ncclParamHandle *found = find(key);
        if (out == nullptr || found == nullptr)
            return refuse(ncclInvalidArgument, "ParamBind : unknown parameter");
        *out = found;
        return ncclSuccess;
    });
}

ncclResult_t ncclParamGetI8(ncclParamHandle_t handle, int8_t *out)
{
    return get_number(handle, out);
}

ncclResult_t ncclParamGetI16(ncclParamHandle_t handle, int16_t *out)
{
    return get_number(handle, out);
}

ncclResult_t ncclParamGetI32(ncclParamHandle_t handle, int32_t *out)
{
    return get_number(handle, out);
}

ncclResult_t ncclParamGetI64(ncclParamHandle_t handle, int64_t *out)
{
    return get_number(handle, out);
}

ncclResult_t ncclParamGetU8(ncclParamHandle_t handle, uint8_t *out)
{
    return get_number(handle, out);
}

ncclResult_t ncclParamGetU16(ncclParamHandle_t handle, uint16_t *out)
{
    return get_number(handle, out);
}

ncclResult_t ncclParamGetU32(ncclParamHandle_t handle, uint32_t *out)
{
    return get_number(handle, out);
}

ncclResult_t ncclParamGetU64(ncclParamHandle_t handle, uint64_t *out)
{
    return get_number(handle, out);
}

ncclResult_t ncclParamGetStr(ncclParamHandle_t handle, const char **out)
{
    return guarded([&]() -> ncclResult_t {
        thread_local std::string copy;
        if (out == nullptr || !known(handle))
            return refuse(ncclInvalidArgument, "ParamGetStr : unknown handle");
        copy = value_of(*handle);
        *out = copy.c_str();
        return ncclSuccess;
    });
}

ncclResult_t ncclParamGet(ncclParamHandle_t handle, void *out, int room, int *length)
{
    return guarded([&]() -> ncclResult_t {
        if (out == nullptr || length == nullptr || room < 0 || !known(handle))
            return refuse(ncclInvalidArgument, "ParamGet : invalid arguments");
        long long number = 0;
        std::string text = value_of(*handle);
        const void *source = text.c_str();
        size_t bytes = text.size() + 1;
        if (handle->number && parse_number(text, &number)) {
            source = &number;
            bytes = sizeof(number);
        }
        if (bytes > static_cast<size_t>(room))
            return refuse(ncclInvalidArgument, "ParamGet : the buffer is too small");
        std::memcpy(out, source, bytes);
        *length = static_cast<int>(bytes);
        return ncclSuccess;
    });
}

ncclResult_t ncclParamGetParameter(const char *key, const char **value, int *length)
{
    return guarded([&]() -> ncclResult_t {
        thread_local std::string copy;
        const ncclParamHandle *found = find(key);
        if (value == nullptr || found == nullptr)
            return refuse(ncclInvalidArgument, "ParamGetParameter : unknown parameter");
        copy = value_of(*found);
        *value = copy.c_str();
        if (length != nullptr)
            *length = static_cast<int>(copy.size());
        return ncclSuccess;
    });
}

ncclResult_t ncclParamGetAllParameterKeys(const char ***table, int *length)
{
    return guarded([&]() -> ncclResult_t {
        thread_local std::vector<const char *> keys;
        if (table == nullptr || length == nullptr)
            return refuse(ncclInvalidArgument, "ParamGetAllParameterKeys : invalid arguments");
        keys.clear();
        for (const ncclParamHandle &parameter : parameters)
            keys.push_back(parameter.key);
        *table = keys.data();
        *length = static_cast<int>(keys.size());
        return ncclSuccess;
    });
}

void ncclParamDumpAll(void)
{
    for (const ncclParamHandle &parameter : parameters)
        std::fprintf(stderr, "NCCL INFO (emulated) %s=%s\n", parameter.key, value_of(parameter));
}

ncclResult_t ncclSetEncryption(const ncclEncryptionConfig_t *config)
{
    return guarded([&]() -> ncclResult_t {
        Fault fault = host_fault("nccl", "ncclSetEncryption");
        if (fault.code)
            return refuse(static_cast<ncclResult_t>(*fault.code), "fault asked for");
        if (config == nullptr || config->magic != NCCL_API_MAGIC || config->size < sizeof(*config))
            return refuse(ncclInvalidArgument, "ncclEncryptionConfig_t argument not initialized");
        bool keyed = config->mode == NCCL_ENCRYPTION_MODE_PSK;
        if ((config->mode != NCCL_ENCRYPTION_MODE_NONE && !keyed) ||
            (keyed && (config->psk == nullptr || config->psk[0] == '\0')))
            return refuse(ncclInvalidArgument, "SetEncryption : invalid mode or key");
        // There are no sockets to encrypt here.
        return ncclSuccess;
    });
}

METRALE_PROFILED(ncclParamBind);
METRALE_PROFILED(ncclParamGetI8);
METRALE_PROFILED(ncclParamGetI16);
METRALE_PROFILED(ncclParamGetI32);
METRALE_PROFILED(ncclParamGetI64);
METRALE_PROFILED(ncclParamGetU8);
METRALE_PROFILED(ncclParamGetU16);
METRALE_PROFILED(ncclParamGetU32);
METRALE_PROFILED(ncclParamGetU64);
METRALE_PROFILED(ncclParamGetStr);
METRALE_PROFILED(ncclParamGet);
METRALE_PROFILED(ncclParamGetParameter);
METRALE_PROFILED(ncclParamGetAllParameterKeys);
METRALE_PROFILED(ncclParamDumpAll);
METRALE_PROFILED(ncclSetEncryption);
