#include "answers.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include "common/library.h"

/*
 * Events come from the reading-like setting `nvml.gpu0.events`: `type[:data][@milliseconds]`
 * separated by semicolons, counted from the registration, each once per set; and from
 * metrale_emulator_nvml_inject.
 */

struct nvmlEventSet_st {
};

namespace
{

using Clock = std::chrono::steady_clock;
using metrale::telemetry::Device;
using metrale::telemetry::read_number;
using metrale::telemetry::split;

struct Registration {
    const Device *device;
    unsigned long long types;
    Clock::time_point since;
    std::size_t injected; /* how many of the device's injections came before */
};

struct EventSet {
    nvmlEventSet_st handle;
    std::vector<Registration> registrations;
    std::set<std::string> delivered;
};

struct Injection {
    unsigned long long type;
    unsigned long long data;
};

struct Events {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<nvmlEventSet_t, std::shared_ptr<EventSet>> sets;
    std::map<unsigned int, std::vector<Injection>> injected; /* by GPU index */
};

Events &events()
{
    static Events *instance = new Events;
    return *instance;
}

struct TypeName {
    std::string_view name;
    unsigned long long type;
};

constexpr TypeName kTypes[] = {
    {"sbe", nvmlEventTypeSingleBitEccError},
    {"dbe", nvmlEventTypeDoubleBitEccError},
    {"pstate", nvmlEventTypePState},
    {"xid", nvmlEventTypeXidCriticalError},
    {"clock", nvmlEventTypeClock},
    {"power", nvmlEventTypePowerSourceChange},
    {"mig", nvmlEventMigConfigChange},
    {"unavailable", nvmlEventTypeGpuUnavailableError},
    {"recovery", nvmlEventTypeGpuRecoveryAction},
};

unsigned long long type_of(std::string_view name)
{
    for (const TypeName &known : kTypes)
        if (known.name == name)
            return known.type;
    return metrale::telemetry::parse_unsigned(name).value_or(0);
}

void fill(nvmlEventData_t *data, const Device &device, unsigned long long type,
          unsigned long long value)
{
    data->device = device.handle();
    data->eventType = type;
    data->eventData = type == nvmlEventTypeXidCriticalError ? value : 0;
    data->gpuInstanceId = metrale::telemetry::kNoInstance;
    data->computeInstanceId = metrale::telemetry::kNoInstance;
}

/* The next event that is due for the set, if there is one. Called with the lock held. */
bool next_event(Events &all, EventSet &set, nvmlEventData_t *data)
{
    for (Registration &registration : set.registrations) {
        const std::vector<Injection> &injected = all.injected[registration.device->index];
        while (registration.injected < injected.size()) {
            const Injection &injection = injected[registration.injected++];
            if ((injection.type & registration.types) == 0)
                continue;
            fill(data, *registration.device, injection.type, injection.data);
            return true;
        }
        const std::string script =
            metrale::telemetry::setting_or(registration.device->prefix + ".events", "");
        std::size_t position = 0;
        for (const std::string &entry : split(script, ';')) {
            const std::string id =
                registration.device->prefix + '#' + std::to_string(position++) + '#' + entry;
            const std::size_t at = entry.find('@');
            const std::vector<std::string> what = split(std::string_view(entry).substr(0, at), ':');
            const std::uint64_t after =
                at == std::string::npos
                    ? 0
                    : metrale::telemetry::parse_unsigned(entry.substr(at + 1)).value_or(0);
            const unsigned long long type = what.empty() ? 0 : type_of(what[0]);
            if ((type & registration.types) == 0 || set.delivered.contains(id) ||
                Clock::now() < registration.since + std::chrono::milliseconds(after))
                continue;
            set.delivered.insert(id);
            fill(data, *registration.device, type,
                 what.size() > 1 ? metrale::telemetry::parse_unsigned(what[1]).value_or(0) : 0);
            return true;
        }
    }
    return false;
}

nvmlReturn_t wait_for(nvmlEventSet_t handle, nvmlEventData_t *data, unsigned int milliseconds)
{
    METRALE_ARGUMENT(data != nullptr);
    Events &all = events();
    std::unique_lock lock(all.mutex);
    const auto deadline = Clock::now() + std::chrono::milliseconds(milliseconds);
    while (true) {
        const auto found = all.sets.find(handle);
        METRALE_ARGUMENT(found != all.sets.end());
        const std::shared_ptr<EventSet> set = found->second;
        for (const Registration &registration : set->registrations)
            METRALE_TRY(metrale::telemetry::lost(*registration.device));
        if (next_event(all, *set, data))
            return NVML_SUCCESS;
        const auto now = Clock::now();
        if (now >= deadline)
            return NVML_ERROR_TIMEOUT;
        /* Woken early by an injection; the slices are for settings that change meanwhile. */
        all.changed.wait_until(lock, std::min(deadline, now + std::chrono::milliseconds(2)));
    }
}

} // namespace

/* For tests in the same process: one event for all sets that are registered for it. */
METRALE_EMULATOR_EXPORT int metrale_emulator_nvml_inject(unsigned int gpu, unsigned long long type,
                                                         unsigned long long data);
int metrale_emulator_nvml_inject(unsigned int gpu, unsigned long long type, unsigned long long data)
{
    Events &all = events();
    const std::lock_guard lock(all.mutex);
    all.injected[gpu].push_back({type, data});
    all.changed.notify_all();
    return 0;
}

NVML_API nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    METRALE_TRY(metrale::telemetry::enter(__func__));
    METRALE_ARGUMENT(set != nullptr);
    auto fresh = std::make_shared<EventSet>();
    *set = &fresh->handle;
    Events &all = events();
    const std::lock_guard lock(all.mutex);
    all.sets[*set] = std::move(fresh);
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    METRALE_TRY(metrale::telemetry::enter(__func__));
    Events &all = events();
    const std::lock_guard lock(all.mutex);
    METRALE_ARGUMENT(all.sets.erase(set) == 1);
    all.changed.notify_all();
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device,
                                                       unsigned long long *types)
{
    METRALE_DEVICE(gpu, device);
    return read_number(gpu->whole(), "events.supported", types);
}

NVML_API nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types,
                                               nvmlEventSet_t set)
{
    METRALE_DEVICE(gpu, device);
    unsigned long long supported = 0;
    METRALE_TRY(read_number(gpu->whole(), "events.supported", &supported));
    if ((types & ~supported) != 0)
        return NVML_ERROR_NOT_SUPPORTED;
    Events &all = events();
    const std::lock_guard lock(all.mutex);
    const auto found = all.sets.find(set);
    METRALE_ARGUMENT(found != all.sets.end());
    const std::size_t injected = all.injected[gpu->whole().index].size();
    found->second->registrations.push_back({&gpu->whole(), types, Clock::now(), injected});
    all.changed.notify_all();
    return NVML_SUCCESS;
}

NVML_API nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data,
                                          unsigned int milliseconds)
{
    METRALE_TRY(metrale::telemetry::enter(__func__));
    return wait_for(set, data, milliseconds);
}

/* The older one leaves the instances alone. */
NVML_API nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data,
                                       unsigned int milliseconds)
{
    METRALE_TRY(metrale::telemetry::enter(__func__));
    METRALE_ARGUMENT(data != nullptr);
    nvmlEventData_t full = {};
    METRALE_TRY(wait_for(set, &full, milliseconds));
    data->device = full.device;
    data->eventType = full.eventType;
    data->eventData = full.eventData;
    return NVML_SUCCESS;
}
