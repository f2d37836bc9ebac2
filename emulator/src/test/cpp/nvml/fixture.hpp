#ifndef METRALE_EMULATOR_TEST_NVML_FIXTURE_HPP
#define METRALE_EMULATOR_TEST_NVML_FIXTURE_HPP

#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <nvml.h>

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

/* The configuration file of this run, replaced as a whole so that the change is always seen. */
class ConfigFile
{
  public:
    explicit ConfigFile(const std::string &lines)
    {
        write(lines);
    }
    ~ConfigFile()
    {
        write("");
    }
    ConfigFile(const ConfigFile &) = delete;
    ConfigFile &operator=(const ConfigFile &) = delete;

    void write(const std::string &lines) const
    {
        const char *path = std::getenv("METRALE_EMULATOR_CONFIG");
        REQUIRE(path != nullptr);
        const std::string fresh = std::string(path) + ".new";
        std::ofstream(fresh) << lines;
        REQUIRE(std::rename(fresh.c_str(), path) == 0);
    }
};

struct Nvml {
    Nvml()
    {
        REQUIRE(nvmlInit_v2() == NVML_SUCCESS);
    }
    ~Nvml()
    {
        nvmlShutdown();
    }
    Nvml(const Nvml &) = delete;
    Nvml &operator=(const Nvml &) = delete;

    nvmlDevice_t device(unsigned int index = 0) const
    {
        nvmlDevice_t handle = nullptr;
        REQUIRE(nvmlDeviceGetHandleByIndex_v2(index, &handle) == NVML_SUCCESS);
        return handle;
    }
};

template <typename T>
long long number(nvmlReturn_t (*getter)(nvmlDevice_t, T *), nvmlDevice_t device)
{
    T value = {};
    const nvmlReturn_t code = getter(device, &value);
    return code == NVML_SUCCESS ? static_cast<long long>(value) : -static_cast<long long>(code);
}

inline std::string text(nvmlReturn_t (*getter)(nvmlDevice_t, char *, unsigned int),
                        nvmlDevice_t device)
{
    char buffer[128] = "";
    const nvmlReturn_t code = getter(device, buffer, sizeof(buffer));
    return code == NVML_SUCCESS ? buffer : "error " + std::to_string(code);
}

inline nvmlFieldValue_t field(nvmlDevice_t device, unsigned int id, unsigned int scope = 0)
{
    nvmlFieldValue_t value = {};
    value.fieldId = id;
    value.scopeId = scope;
    REQUIRE(nvmlDeviceGetFieldValues(device, 1, &value) == NVML_SUCCESS);
    return value;
}

#endif
