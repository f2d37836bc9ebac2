/* A range with a registered name; with the tool that the environment names, or without one. */
#include <nvtx3/nvToolsExt.h>

#include "bench.h"

static nvtxDomainHandle_t domain;
static nvtxStringHandle_t name;

static void push_pop(long times)
{
    while (times-- > 0) {
        nvtxEventAttributes_t event = {0};

        event.version = NVTX_VERSION;
        event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
        event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        event.message.registered = name;
        nvtxDomainRangePushEx(domain, &event);
        nvtxDomainRangePop(domain);
    }
}

int main(int count, char **arguments)
{
    bench_arguments(count, arguments);
    domain = nvtxDomainCreateA("benchmark");
    name = nvtxDomainRegisterStringA(domain, "range");
    bench(getenv("NVTX_INJECTION64_PATH") != NULL ? "range-tool" : "range-off", push_pop);
    return 0;
}
