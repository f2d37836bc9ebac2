/*
 * An NVTX tool for tests: writes what a profiler would see, one line an event, to the file that
 * METRALE_NVTX_RECORD names. Without that variable it takes every event and does nothing.
 */
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct nvtxDomainRegistration_st {
    char name[256];
};

struct nvtxStringRegistration_st {
    char text[256];
};

static FILE *record;
static pthread_mutex_t record_mutex = PTHREAD_MUTEX_INITIALIZER;
static __thread int depth;
static uint64_t last_range;

static const char *domain_name(nvtxDomainHandle_t domain)
{
    return domain != NULL ? ((struct nvtxDomainRegistration_st *)domain)->name : "-";
}

static void line(const char *what, nvtxDomainHandle_t domain, const char *rest)
{
    if (record == NULL)
        return;
    pthread_mutex_lock(&record_mutex);
    fprintf(record, "%ld %s [%s] %s\n", (long)syscall(SYS_gettid), what, domain_name(domain), rest);
    fflush(record);
    pthread_mutex_unlock(&record_mutex);
}

static void event(const char *what, nvtxDomainHandle_t domain,
                  const nvtxEventAttributes_t *attributes, uint64_t id)
{
    char rest[512];
    const char *kind = "none";
    const char *text = "";
    char payload[64] = "-";

    if (record == NULL)
        return;
    if (attributes->messageType == NVTX_MESSAGE_TYPE_REGISTERED) {
        kind = "registered";
        text = ((struct nvtxStringRegistration_st *)attributes->message.registered)->text;
    } else if (attributes->messageType == NVTX_MESSAGE_TYPE_ASCII) {
        kind = "text";
        text = attributes->message.ascii;
    }
    if (attributes->payloadType == NVTX_PAYLOAD_TYPE_INT64)
        snprintf(payload, sizeof(payload), "%" PRId64, attributes->payload.llValue);
    else if (attributes->payloadType == NVTX_PAYLOAD_TYPE_DOUBLE)
        snprintf(payload, sizeof(payload), "%.3f", attributes->payload.dValue);
    snprintf(rest, sizeof(rest), "%s \"%s\" category=%u colour=%d:%08x payload=%s id=%" PRIu64,
             kind, text, attributes->category, attributes->colorType, attributes->color, payload,
             id);
    line(what, domain, rest);
}

static nvtxDomainHandle_t NVTX_API domain_create(const char *name)
{
    struct nvtxDomainRegistration_st *made = calloc(1, sizeof(*made));

    snprintf(made->name, sizeof(made->name), "%s", name);
    line("domain", made, "");
    return made;
}

static nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t domain, const char *text)
{
    struct nvtxStringRegistration_st *made = calloc(1, sizeof(*made));

    snprintf(made->text, sizeof(made->text), "%s", text);
    line("register", domain, made->text);
    return made;
}

static int NVTX_API push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    event("push", domain, attributes, (uint64_t)depth);
    return depth++;
}

static int NVTX_API pop(nvtxDomainHandle_t domain)
{
    char rest[32];

    depth--;
    if (record == NULL)
        return depth;
    snprintf(rest, sizeof(rest), "id=%d", depth);
    line("pop", domain, rest);
    return depth;
}

static nvtxRangeId_t NVTX_API start(nvtxDomainHandle_t domain,
                                    const nvtxEventAttributes_t *attributes)
{
    const uint64_t id = __atomic_add_fetch(&last_range, 1, __ATOMIC_RELAXED);

    event("start", domain, attributes, id);
    return id;
}

static void NVTX_API end(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
    char rest[32];

    if (record == NULL)
        return;
    snprintf(rest, sizeof(rest), "id=%" PRIu64, id);
    line("end", domain, rest);
}

static void NVTX_API mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *attributes)
{
    event("mark", domain, attributes, 0);
}

static void NVTX_API name_category(nvtxDomainHandle_t domain, uint32_t category, const char *name)
{
    char rest[300];

    snprintf(rest, sizeof(rest), "%u=%s", category, name);
    line("category", domain, rest);
}

static void NVTX_API name_thread(uint32_t thread, const char *name)
{
    char rest[300];

    snprintf(rest, sizeof(rest), "%u=%s", thread, name);
    line("thread", NULL, rest);
}

static void set(NvtxFunctionTable table, int index, void *function)
{
    *table[index] = (NvtxFunctionPointer)(uintptr_t)function;
}

__attribute__((visibility("default"))) int NVTX_API
InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
    const NvtxExportTableCallbacks *callbacks = get_table(NVTX_ETID_CALLBACKS);
    const char *file = getenv("METRALE_NVTX_RECORD");
    NvtxFunctionTable core = NULL;
    NvtxFunctionTable core2 = NULL;
    unsigned int size = 0;

    if (callbacks == NULL ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &size) ||
        !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2, &size))
        return 0;
    record = file != NULL ? fopen(file, "ae") : NULL;
    set(core, NVTX_CBID_CORE_NameOsThreadA, (void *)name_thread);
    set(core2, NVTX_CBID_CORE2_DomainMarkEx, (void *)mark);
    set(core2, NVTX_CBID_CORE2_DomainRangeStartEx, (void *)start);
    set(core2, NVTX_CBID_CORE2_DomainRangeEnd, (void *)end);
    set(core2, NVTX_CBID_CORE2_DomainRangePushEx, (void *)push);
    set(core2, NVTX_CBID_CORE2_DomainRangePop, (void *)pop);
    set(core2, NVTX_CBID_CORE2_DomainNameCategoryA, (void *)name_category);
    set(core2, NVTX_CBID_CORE2_DomainRegisterStringA, (void *)register_string);
    set(core2, NVTX_CBID_CORE2_DomainCreateA, (void *)domain_create);
    return 1;
}
