#include "fixture.hpp"

#include <chrono>
#include <thread>

extern "C" int metrale_emulator_nvml_inject(unsigned int gpu, unsigned long long type,
                                            unsigned long long data);

namespace
{

struct Set {
    nvmlEventSet_t handle = nullptr;
    Set()
    {
        REQUIRE(nvmlEventSetCreate(&handle) == NVML_SUCCESS);
    }
    ~Set()
    {
        nvmlEventSetFree(handle);
    }
    Set(const Set &) = delete;
    Set &operator=(const Set &) = delete;
};

} // namespace

TEST_SUITE("events")
{
    TEST_CASE("times out when nothing happens")
    {
        const Nvml nvml;
        const Set set;
        nvmlEventData_t data = {};
        CHECK(nvmlDeviceRegisterEvents(nvml.device(), nvmlEventTypeXidCriticalError, set.handle) ==
              NVML_SUCCESS);
        const auto start = std::chrono::steady_clock::now();
        CHECK(nvmlEventSetWait_v2(set.handle, &data, 30) == NVML_ERROR_TIMEOUT);
        CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(30));
        CHECK(nvmlEventSetWait_v2(set.handle, &data, 0) == NVML_ERROR_TIMEOUT);
    }

    TEST_CASE("delivers an injected Xid to those who asked for it, once")
    {
        const Nvml nvml;
        const Set wanted;
        const Set other;
        nvmlEventData_t data = {};
        REQUIRE(nvmlDeviceRegisterEvents(nvml.device(1), nvmlEventTypeXidCriticalError,
                                         wanted.handle) == NVML_SUCCESS);
        REQUIRE(nvmlDeviceRegisterEvents(nvml.device(1), nvmlEventTypeClock, other.handle) ==
                NVML_SUCCESS);
        metrale_emulator_nvml_inject(1, nvmlEventTypeXidCriticalError, 79);
        CHECK(nvmlEventSetWait_v2(wanted.handle, &data, 1000) == NVML_SUCCESS);
        CHECK(data.device == nvml.device(1));
        CHECK(data.eventType == nvmlEventTypeXidCriticalError);
        CHECK(data.eventData == 79);
        CHECK(data.gpuInstanceId == 0xFFFFFFFFU);
        CHECK(nvmlEventSetWait_v2(wanted.handle, &data, 5) == NVML_ERROR_TIMEOUT);
        CHECK(nvmlEventSetWait_v2(other.handle, &data, 5) == NVML_ERROR_TIMEOUT);
    }

    TEST_CASE("wakes a waiting thread")
    {
        const Nvml nvml;
        const Set set;
        REQUIRE(nvmlDeviceRegisterEvents(nvml.device(), nvmlEventTypePState, set.handle) ==
                NVML_SUCCESS);
        std::thread later([] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            metrale_emulator_nvml_inject(0, nvmlEventTypePState, 0);
        });
        nvmlEventData_t data = {};
        CHECK(nvmlEventSetWait(set.handle, &data, 5000) == NVML_SUCCESS);
        CHECK(data.eventType == nvmlEventTypePState);
        later.join();
    }

    TEST_CASE("plays the script of the file, also when it changes during the wait")
    {
        const Nvml nvml;
        const Set set;
        ConfigFile file("nvml.gpu0.events = clock@10; xid:63@20\n");
        REQUIRE(nvmlDeviceRegisterEvents(nvml.device(),
                                         nvmlEventTypeClock | nvmlEventTypeXidCriticalError |
                                             nvmlEventTypePowerSourceChange,
                                         set.handle) == NVML_SUCCESS);
        nvmlEventData_t data = {};
        CHECK(nvmlEventSetWait_v2(set.handle, &data, 2000) == NVML_SUCCESS);
        CHECK(data.eventType == nvmlEventTypeClock);
        CHECK(nvmlEventSetWait_v2(set.handle, &data, 2000) == NVML_SUCCESS);
        CHECK(data.eventData == 63);
        std::thread later([&file] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            file.write("nvml.gpu0.events = clock@10; xid:63@20; power\n");
        });
        CHECK(nvmlEventSetWait_v2(set.handle, &data, 5000) == NVML_SUCCESS);
        CHECK(data.eventType == nvmlEventTypePowerSourceChange);
        later.join();
    }

    TEST_CASE("ends a wait when the device is lost or the set is freed")
    {
        const Nvml nvml;
        nvmlEventSet_t set = nullptr;
        REQUIRE(nvmlEventSetCreate(&set) == NVML_SUCCESS);
        REQUIRE(nvmlDeviceRegisterEvents(nvml.device(), nvmlEventTypeXidCriticalError, set) ==
                NVML_SUCCESS);
        nvmlEventData_t data = {};
        {
            ConfigFile file("nvml.gpu0.lost = 1\n");
            CHECK(nvmlEventSetWait_v2(set, &data, 1000) == NVML_ERROR_GPU_IS_LOST);
        }
        std::thread later([set] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            nvmlEventSetFree(set);
        });
        CHECK(nvmlEventSetWait_v2(set, &data, 5000) == NVML_ERROR_INVALID_ARGUMENT);
        later.join();
        CHECK(nvmlEventSetFree(set) == NVML_ERROR_INVALID_ARGUMENT);
    }

    TEST_CASE("refuses event types that the device has not")
    {
        const Nvml nvml;
        const Set set;
        unsigned long long types = 0;
        CHECK(nvmlDeviceGetSupportedEventTypes(nvml.device(), &types) == NVML_SUCCESS);
        CHECK((types & nvmlEventTypeXidCriticalError) != 0);
        CHECK(nvmlDeviceRegisterEvents(nvml.device(), 1ULL << 60U, set.handle) ==
              NVML_ERROR_NOT_SUPPORTED);
        CHECK(nvmlDeviceRegisterEvents(nvml.device(), nvmlEventTypeClock, nullptr) ==
              NVML_ERROR_INVALID_ARGUMENT);
    }
}
