#ifndef METRALE_EMULATOR_NVML_STATE_HPP
#define METRALE_EMULATOR_NVML_STATE_HPP

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "profiles.hpp"
#include "settings.hpp"

#define NVML_API extern "C" __attribute__((visibility("default")))

namespace metrale::telemetry
{

constexpr unsigned int kNoInstance = 0xFFFFFFFFU;

/* A whole GPU or, with a parent, a MIG device. Never freed and never changed, so a handle stays a
 * valid address. */
struct Device {
    unsigned int index = 0;
    const Device *parent = nullptr;
    std::string prefix; /* of its settings: nvml.gpu0 or nvml.gpu0.mig1 */
    std::string kind;
    Profile profile;
    std::string name;
    std::string uuid;
    unsigned int pci_domain = 0;
    unsigned int pci_bus = 0;
    unsigned int pci_device = 0;
    std::string mig_profile; /* 3g.40gb */
    unsigned int slices = 0;
    std::uint64_t slice_memory_mib = 0;
    unsigned int gpu_instance = kNoInstance;
    unsigned int compute_instance = kNoInstance;
    mutable std::atomic<std::uint64_t> calls{0};

    bool is_mig() const
    {
        return parent != nullptr;
    }
    const Device &whole() const
    {
        return parent != nullptr ? *parent : *this;
    }
    nvmlDevice_t handle() const
    {
        return reinterpret_cast<nvmlDevice_t>(const_cast<Device *>(this));
    }
};

/* A machine as one successful initialisation sees it. */
struct Session {
    std::vector<const Device *> gpus;
    std::vector<const Device *> migs;
};

nvmlReturn_t initialize(unsigned int flags);
nvmlReturn_t shut_down();

/* Empty while the library is not initialised. */
std::shared_ptr<const Session> session();

/* The driver that the library belongs to: the same from its loading to the end. */
const Driver &current_driver();

/*
 * What every function does first: whether this driver has it, what fault is asked for, whether the
 * library is initialised, and whether the handle is one that we gave.
 */
nvmlReturn_t enter(const char *function);
nvmlReturn_t enter_before_init(const char *function);
nvmlReturn_t enter_device(const char *function, nvmlDevice_t handle, const Device **device);
const Device *find_device(nvmlDevice_t handle);
nvmlReturn_t lost(const Device &device);

/* What a reading answers: a code, and the text if the code is success. */
struct Reading {
    nvmlReturn_t code = NVML_ERROR_NOT_SUPPORTED;
    std::string text;
};

Reading read(const Device &device, std::string_view key);

template <typename T> nvmlReturn_t parse_reading(const Reading &reading, T *value)
{
    if (reading.code != NVML_SUCCESS)
        return reading.code;
    if constexpr (std::is_floating_point_v<T>) {
        const auto parsed = parse_real(reading.text);
        if (!parsed)
            return NVML_ERROR_UNKNOWN;
        *value = static_cast<T>(*parsed);
    } else if constexpr (std::is_enum_v<T> || std::is_unsigned_v<T>) {
        const auto parsed = parse_unsigned(reading.text);
        if (!parsed)
            return NVML_ERROR_UNKNOWN;
        *value = static_cast<T>(*parsed);
    } else {
        const auto parsed = parse_signed(reading.text);
        if (!parsed)
            return NVML_ERROR_UNKNOWN;
        *value = static_cast<T>(*parsed);
    }
    return NVML_SUCCESS;
}

/* Writes the number only on success. */
template <typename T> nvmlReturn_t read_number(const Device &device, std::string_view key, T *value)
{
    if (value == nullptr)
        return NVML_ERROR_INVALID_ARGUMENT;
    return parse_reading(read(device, key), value);
}

nvmlReturn_t copy_text(std::string_view text, char *buffer, unsigned int length);
nvmlReturn_t read_text(const Device &device, std::string_view key, char *buffer,
                       unsigned int length);

/* The word that NVML_STRUCT_VERSION builds. */
template <typename T> constexpr unsigned int version_word(unsigned int version)
{
    return static_cast<unsigned int>(sizeof(T)) | version << 24U;
}

template <typename T> bool has_version(const T *structure, unsigned int version)
{
    return structure->version == version_word<T>(version);
}

/* Since the epoch. */
unsigned long long microseconds_now();

nvmlReturn_t total_energy(const Device &device, unsigned long long *millijoules);

} // namespace metrale::telemetry

#define METRALE_TRY(call)                                                                          \
    do {                                                                                           \
        const nvmlReturn_t metrale_code = (call);                                                  \
        if (metrale_code != NVML_SUCCESS)                                                          \
            return metrale_code;                                                                   \
    } while (false)

/* First line of a function that takes a device: declares `gpu`, or returns. */
#define METRALE_DEVICE(gpu, handle)                                                                \
    const metrale::telemetry::Device *gpu = nullptr;                                               \
    METRALE_TRY(metrale::telemetry::enter_device(__func__, handle, &gpu))

/* The same where the answer is one for all devices. */
#define METRALE_KNOWN_DEVICE(handle)                                                               \
    do {                                                                                           \
        METRALE_DEVICE(metrale_gpu, handle);                                                       \
    } while (false)

#define METRALE_ARGUMENT(condition)                                                                \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return NVML_ERROR_INVALID_ARGUMENT;                                                    \
    } while (false)

#endif
