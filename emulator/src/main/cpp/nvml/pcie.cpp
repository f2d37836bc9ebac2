#include "answers.hpp"

/* PCIe. Throughput is a measurement that takes its time, as on the real thing. */

using metrale::telemetry::read_number;

METRALE_ANSWER_NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, unsigned int, "pcie.generation")
METRALE_ANSWER_NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, unsigned int, "pcie.generation.max")
METRALE_ANSWER_NUMBER(nvmlDeviceGetGpuMaxPcieLinkGeneration, unsigned int,
                      "pcie.generation.device_max")
METRALE_ANSWER_NUMBER(nvmlDeviceGetCurrPcieLinkWidth, unsigned int, "pcie.width")
METRALE_ANSWER_NUMBER(nvmlDeviceGetMaxPcieLinkWidth, unsigned int, "pcie.width.max")
METRALE_ANSWER_NUMBER(nvmlDeviceGetPcieReplayCounter, unsigned int, "pcie.replays")
METRALE_ANSWER_NUMBER(nvmlDeviceGetPcieSpeed, unsigned int, "pcie.speed")
METRALE_ANSWER_NUMBER(nvmlDeviceGetPcieLinkMaxSpeed, unsigned int, "pcie.speed.max")

NVML_API nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device,
                                                  nvmlPcieUtilCounter_t counter,
                                                  unsigned int *kilobytes)
{
    METRALE_DEVICE(gpu, device);
    METRALE_ARGUMENT(kilobytes != nullptr &&
                     static_cast<unsigned int>(counter) < NVML_PCIE_UTIL_COUNT);
    METRALE_TRY(
        read_number(*gpu, counter == NVML_PCIE_UTIL_TX_BYTES ? "pcie.tx" : "pcie.rx", kilobytes));
    metrale::telemetry::sleep_milliseconds(
        static_cast<double>(metrale::telemetry::setting_number("nvml.pcie.cost_ms", 20)));
    return NVML_SUCCESS;
}
