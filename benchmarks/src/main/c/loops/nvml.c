/* The calls of one full sample, in the sampler's order; every answer is kept. */
#include <nvml.h>
#include <string.h>

#include "bench.h"

struct sample {
    unsigned int power, graphics, sm, memory_clock, video, encoder, encoder_period, decoder,
        decoder_period;
    unsigned long long energy, reasons;
    nvmlTemperature_t temperature;
    nvmlMemory_v2_t memory;
    nvmlUtilization_t utilization;
    nvmlPstates_t state;
    int codes[13];
};

static nvmlDevice_t device;
static struct sample kept;

static void sample(long times)
{
    while (times-- > 0) {
        struct sample *out = &kept;
        int *code = out->codes;

        code[0] = nvmlDeviceGetPowerUsage(device, &out->power);
        code[1] = nvmlDeviceGetTotalEnergyConsumption(device, &out->energy);
        code[2] = nvmlDeviceGetClockInfo(device, NVML_CLOCK_GRAPHICS, &out->graphics);
        code[3] = nvmlDeviceGetClockInfo(device, NVML_CLOCK_SM, &out->sm);
        code[4] = nvmlDeviceGetClockInfo(device, NVML_CLOCK_MEM, &out->memory_clock);
        code[5] = nvmlDeviceGetClockInfo(device, NVML_CLOCK_VIDEO, &out->video);
        memset(&out->temperature, 0, sizeof(out->temperature));
        out->temperature.version = nvmlTemperature_v1;
        code[6] = nvmlDeviceGetTemperatureV(device, &out->temperature);
        code[7] = nvmlDeviceGetCurrentClocksEventReasons(device, &out->reasons);
        memset(&out->memory, 0, sizeof(out->memory));
        out->memory.version = nvmlMemory_v2;
        code[8] = nvmlDeviceGetMemoryInfo_v2(device, &out->memory);
        code[9] = nvmlDeviceGetUtilizationRates(device, &out->utilization);
        code[10] = nvmlDeviceGetEncoderUtilization(device, &out->encoder, &out->encoder_period);
        code[11] = nvmlDeviceGetDecoderUtilization(device, &out->decoder, &out->decoder_period);
        code[12] = nvmlDeviceGetPerformanceState(device, &out->state);
    }
}

int main(int count, char **arguments)
{
    bench_arguments(count, arguments);
    bench_require(nvmlInit() == 0 && nvmlDeviceGetHandleByIndex(0, &device) == 0, "NVML");
    bench("full-sample", sample);
    return 0;
}
