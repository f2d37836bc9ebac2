#include "state.hpp"

#include <chrono>
#include <mutex>
#include <shared_mutex>

#include "common/library.h"
#include "machine.hpp"

namespace metrale::telemetry
{
namespace
{

struct Library {
    std::shared_mutex mutex;
    unsigned int uses = 0;
    std::atomic<bool> all_lost{false};
    std::shared_ptr<const Session> session;
    /* Every device ever handed out, so that a stale handle is refused and not followed. */
    std::vector<std::unique_ptr<Device>> devices;
    std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

Library &library()
{
    static Library *instance = new Library;
    return *instance;
}

void substitute_index(Profile &profile, unsigned int index)
{
    constexpr std::string_view kMark = "{index}";
    for (auto &[key, text] : profile) {
        if (text == "index")
            text = std::to_string(index);
        const std::size_t at = text.find(kMark);
        if (at != std::string::npos)
            text.replace(at, kMark.size(), std::to_string(index));
    }
}

/* "3g.40gb:2:0" becomes a device; a text that is not of that form is left out. */
std::unique_ptr<Device> make_mig(const Device &parent, const MachineGpu &machine,
                                 unsigned int index, const std::string &text)
{
    const std::vector<std::string> parts = split(text, ':');
    if (parts.size() != 3 || index >= machine.mig_uuids.size())
        return nullptr;
    const auto gpu_instance = parse_unsigned(parts[1]);
    const auto compute_instance = parse_unsigned(parts[2]);
    const std::size_t dot = parts[0].find("g.");
    const std::size_t unit = parts[0].find("gb");
    if (!gpu_instance || !compute_instance || dot == std::string::npos || unit == std::string::npos)
        return nullptr;
    auto mig = std::make_unique<Device>();
    mig->index = index;
    mig->parent = &parent;
    mig->prefix = parent.prefix + ".mig" + std::to_string(index);
    mig->kind = parent.kind;
    mig->mig_profile = parts[0];
    mig->name = parent.name + " MIG " + parts[0];
    mig->slices = static_cast<unsigned int>(parse_unsigned(parts[0].substr(0, dot)).value_or(1));
    mig->slice_memory_mib =
        parse_unsigned(parts[0].substr(dot + 2, unit - dot - 2)).value_or(0) * 1024 - 128;
    mig->gpu_instance = static_cast<unsigned int>(*gpu_instance);
    mig->compute_instance = static_cast<unsigned int>(*compute_instance);
    mig->uuid = machine.mig_uuids[index];
    const std::uint64_t total = mig->slice_memory_mib << 20U;
    mig->profile = {{"memory.total", std::to_string(total)},
                    {"memory.reserved", std::to_string(8U << 20U)},
                    {"memory.used", std::to_string((32ULL + index) << 20U)},
                    {"processes", ""},
                    {"graphics_processes", ""},
                    {"mps_processes", ""}};
    return mig;
}

std::shared_ptr<const Session> describe(Library &target)
{
    auto described = std::make_shared<Session>();
    const unsigned int count = machine_gpu_count();
    for (unsigned int index = 0; index < count; ++index) {
        const MachineGpu machine = machine_gpu(index);
        auto gpu = std::make_unique<Device>();
        gpu->index = index;
        gpu->prefix = "nvml.gpu" + std::to_string(index);
        gpu->kind = machine.kind;
        gpu->profile = profile_of(machine.kind);
        substitute_index(gpu->profile, index);
        gpu->name = machine.name.empty() ? gpu->profile["name"] : machine.name;
        if (machine.memory_bytes != 0 && gpu->profile.contains("memory.total"))
            gpu->profile["memory.total"] = std::to_string(machine.memory_bytes);
        gpu->uuid = machine.uuid;
        gpu->pci_domain = machine.pci_domain;
        gpu->pci_bus = machine.pci_bus;
        gpu->pci_device = machine.pci_device;
        const std::string instances =
            setting_or(gpu->prefix + ".mig.instances", gpu->profile["mig.instances"]);
        unsigned int mig_index = 0;
        for (const std::string &text : split(instances, ';')) {
            auto mig = make_mig(*gpu, machine, mig_index, text);
            if (mig == nullptr)
                continue;
            ++mig_index;
            described->migs.push_back(mig.get());
            target.devices.push_back(std::move(mig));
        }
        described->gpus.push_back(gpu.get());
        target.devices.push_back(std::move(gpu));
    }
    return described;
}

/* Codes that the enumeration has no room for count as the unknown one. */
nvmlReturn_t code_of(std::int64_t number)
{
    constexpr std::int64_t kLast = 1023;
    return number < 0 || number > kLast ? NVML_ERROR_UNKNOWN : static_cast<nvmlReturn_t>(number);
}

nvmlReturn_t asked_error(std::string_view text)
{
    return code_of(parse_signed(text.substr(6)).value_or(NVML_ERROR_UNKNOWN));
}

} // namespace

const Driver &current_driver()
{
    static const auto *driver = [] {
        auto *made = new Driver(driver_of(machine_driver()));
        made->cuda = machine_cuda(made->cuda);
        return made;
    }();
    return *driver;
}

nvmlReturn_t initialize(unsigned int flags)
{
    Library &target = library();
    const std::unique_lock lock(target.mutex);
    if (target.uses == 0) {
        const std::string asked = next_of("nvml.init", setting_or("nvml.init", ""));
        if (asked.starts_with("error:"))
            return asked_error(asked);
        auto described = describe(target);
        if (described->gpus.empty() && (flags & NVML_INIT_FLAG_NO_GPUS) == 0U)
            return NVML_ERROR_DRIVER_NOT_LOADED;
        target.session = std::move(described);
    }
    ++target.uses;
    return NVML_SUCCESS;
}

nvmlReturn_t shut_down()
{
    Library &target = library();
    const std::unique_lock lock(target.mutex);
    if (target.uses == 0)
        return NVML_ERROR_UNINITIALIZED;
    if (--target.uses == 0)
        target.session.reset();
    return NVML_SUCCESS;
}

std::shared_ptr<const Session> session()
{
    Library &target = library();
    const std::shared_lock lock(target.mutex);
    return target.session;
}

nvmlReturn_t enter_before_init(const char *function)
{
    if (driver_with(function) > current_driver().major)
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    const emulator::Fault fault = emulator::host_fault("nvml", function);
    if (fault.lost)
        library().all_lost = true;
    return fault.code ? code_of(*fault.code) : NVML_SUCCESS;
}

nvmlReturn_t enter(const char *function)
{
    METRALE_TRY(enter_before_init(function));
    return session() == nullptr ? NVML_ERROR_UNINITIALIZED : NVML_SUCCESS;
}

const Device *find_device(nvmlDevice_t handle)
{
    const auto current = session();
    if (current == nullptr)
        return nullptr;
    for (const auto *list : {&current->gpus, &current->migs})
        for (const Device *device : *list)
            if (device->handle() == handle)
                return device;
    return nullptr;
}

nvmlReturn_t lost(const Device &device)
{
    const Device &gpu = device.whole();
    if (library().all_lost)
        return NVML_ERROR_GPU_IS_LOST;
    const std::string text = setting_or(gpu.prefix + ".lost", "");
    if (text.empty())
        return NVML_SUCCESS;
    if (text.starts_with("after:"))
        return gpu.calls > parse_unsigned(text.substr(6)).value_or(0) ? NVML_ERROR_GPU_IS_LOST
                                                                      : NVML_SUCCESS;
    return text == "0" || text == "false" ? NVML_SUCCESS : NVML_ERROR_GPU_IS_LOST;
}

nvmlReturn_t enter_device(const char *function, nvmlDevice_t handle, const Device **device)
{
    METRALE_TRY(enter(function));
    *device = find_device(handle);
    if (*device == nullptr)
        return NVML_ERROR_INVALID_ARGUMENT;
    ++(*device)->whole().calls;
    return lost(**device);
}

Reading read(const Device &device, std::string_view key)
{
    const std::string own = device.prefix + '.' + std::string(key);
    std::optional<std::string> text = setting(own);
    if (!text && !device.is_mig())
        text = setting("nvml.gpu." + std::string(key));
    if (!text) {
        const auto found = device.profile.find(key);
        if (found == device.profile.end())
            return {};
        text = found->second;
    }
    const std::string answer = next_of(own, *text);
    if (answer == "N/A")
        return {};
    if (answer.starts_with("error:"))
        return {asked_error(answer), {}};
    return {NVML_SUCCESS, answer};
}

nvmlReturn_t copy_text(std::string_view text, char *buffer, unsigned int length)
{
    if (buffer == nullptr)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (length < text.size() + 1)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    std::memcpy(buffer, text.data(), text.size());
    buffer[text.size()] = '\0';
    return NVML_SUCCESS;
}

nvmlReturn_t read_text(const Device &device, std::string_view key, char *buffer,
                       unsigned int length)
{
    if (buffer == nullptr)
        return NVML_ERROR_INVALID_ARGUMENT;
    const Reading reading = read(device, key);
    return reading.code != NVML_SUCCESS ? reading.code : copy_text(reading.text, buffer, length);
}

unsigned long long microseconds_now()
{
    const auto since = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<unsigned long long>(
        std::chrono::duration_cast<std::chrono::microseconds>(since).count());
}

/* An own value if there is one, else what the profile's power has used since the library was
 * loaded. */
nvmlReturn_t total_energy(const Device &device, unsigned long long *millijoules)
{
    if (millijoules == nullptr)
        return NVML_ERROR_INVALID_ARGUMENT;
    const Reading own = read(device, "energy");
    if (own.code != NVML_ERROR_NOT_SUPPORTED || setting(device.prefix + ".energy"))
        return parse_reading(own, millijoules);
    unsigned long long base = 0;
    METRALE_TRY(read_number(device, "energy.base", &base));
    const auto power = device.profile.find("power");
    const double milliwatts =
        power == device.profile.end() ? 0 : parse_real(power->second).value_or(0);
    const std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - library().started;
    *millijoules = base + static_cast<unsigned long long>(milliwatts * elapsed.count());
    return NVML_SUCCESS;
}

} // namespace metrale::telemetry
