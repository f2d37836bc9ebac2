/*
 * Flat calls of NVTX for the checked layer: handles as 64-bit integers, attributes built in C, so
 * that a range costs two crossings and no memory. Texts are UTF-8 that ends in a NUL; the tool
 * copies them. A domain of 0 is the default one. The caller has checked every argument.
 */
#ifndef METRALE_NVTX_H
#define METRALE_NVTX_H
#include <stdint.h>

#ifndef METRALE_PARSER
#include <cstdlib>
#include <sys/syscall.h>
#include <unistd.h>

static inline nvtxDomainHandle_t metrale_nvtx_domain(int64_t domain)
{
    return reinterpret_cast<nvtxDomainHandle_t>(domain);
}

/* What one event says: a registered string or a text, a colour (0: none), a category, a payload. */
static inline nvtxEventAttributes_t metrale_nvtx_event(int64_t string, const signed char *text,
                                                       int category, int argb, int payload_type,
                                                       int64_t payload)
{
    nvtxEventAttributes_t event = {};

    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.category = static_cast<uint32_t>(category);
    if (argb != 0) {
        event.colorType = NVTX_COLOR_ARGB;
        event.color = static_cast<uint32_t>(argb);
    }
    event.payloadType = payload_type;
    event.payload.llValue = payload; /* the bits of a double too */
    if (string != 0) {
        event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
        event.message.registered = reinterpret_cast<nvtxStringHandle_t>(string);
    } else {
        event.messageType = NVTX_MESSAGE_TYPE_ASCII;
        event.message.ascii = reinterpret_cast<const char *>(text);
    }
    return event;
}

/* A domain and what an event in it says. */
struct metrale_nvtx_prepared {
    nvtxDomainHandle_t domain;
    nvtxEventAttributes_t event;
};
#endif

/* Looks for a tool, once a process. Answers whether one is there that takes ranges of domains. */
static inline int metrale_nvtx_attached(void)
#ifndef METRALE_PARSER
{
    nvtxInitialize(nullptr);
    return NVTX_VERSIONED_IDENTIFIER(nvtxGlobals).nvtxDomainRangePushEx_impl_fnptr != nullptr;
}
#endif
;

/* A new domain, or 0 if the tool keeps none. */
static inline int64_t metrale_nvtx_domain_create(const signed char *name)
#ifndef METRALE_PARSER
{
    return reinterpret_cast<int64_t>(nvtxDomainCreateA(reinterpret_cast<const char *>(name)));
}
#endif
;

/* A text as the tool keeps it, or 0 if it keeps none. */
static inline int64_t metrale_nvtx_register(int64_t domain, const signed char *text)
#ifndef METRALE_PARSER
{
    return reinterpret_cast<int64_t>(nvtxDomainRegisterStringA(
        metrale_nvtx_domain(domain), reinterpret_cast<const char *>(text)));
}
#endif
;

static inline void metrale_nvtx_name_category(int64_t domain, int category, const signed char *name)
#ifndef METRALE_PARSER
{
    nvtxDomainNameCategoryA(metrale_nvtx_domain(domain), static_cast<uint32_t>(category),
                            reinterpret_cast<const char *>(name));
}
#endif
;

/* Names the calling thread of the operating system. */
static inline void metrale_nvtx_name_thread(const signed char *name)
#ifndef METRALE_PARSER
{
    nvtxNameOsThreadA(static_cast<uint32_t>(syscall(SYS_gettid)),
                      reinterpret_cast<const char *>(name));
}
#endif
;

/* Begins a range on the calling thread's stack; the level is the tool's, or a negative number. */
static inline int metrale_nvtx_push(int64_t domain, int64_t string, int category, int argb,
                                    int payload_type, int64_t payload)
#ifndef METRALE_PARSER
{
    const nvtxEventAttributes_t event =
        metrale_nvtx_event(string, nullptr, category, argb, payload_type, payload);

    return nvtxDomainRangePushEx(metrale_nvtx_domain(domain), &event);
}
#endif
;

/*
 * What metrale_nvtx_push would be given each time, kept for as long as the process lives; 0 if
 * there is no memory for it.
 */
static inline int64_t metrale_nvtx_prepare(int64_t domain, int64_t string, int category, int argb)
#ifndef METRALE_PARSER
{
    metrale_nvtx_prepared *made =
        static_cast<metrale_nvtx_prepared *>(malloc(sizeof(metrale_nvtx_prepared)));

    if (made != nullptr) {
        made->domain = metrale_nvtx_domain(domain);
        made->event = metrale_nvtx_event(string, nullptr, category, argb, 0, 0);
    }
    return reinterpret_cast<int64_t>(made);
}
#endif
;

/* As metrale_nvtx_push, with what was prepared. */
static inline int metrale_nvtx_push_prepared(int64_t prepared)
#ifndef METRALE_PARSER
{
    const metrale_nvtx_prepared *what = reinterpret_cast<const metrale_nvtx_prepared *>(prepared);

    return nvtxDomainRangePushEx(what->domain, &what->event);
}
#endif
;

/* As metrale_nvtx_push, with a text that is not registered. */
static inline int metrale_nvtx_push_text(int64_t domain, const signed char *text, int category,
                                         int argb, int payload_type, int64_t payload)
#ifndef METRALE_PARSER
{
    const nvtxEventAttributes_t event =
        metrale_nvtx_event(0, text, category, argb, payload_type, payload);

    return nvtxDomainRangePushEx(metrale_nvtx_domain(domain), &event);
}
#endif
;

/* Ends the innermost range of the calling thread. */
static inline int metrale_nvtx_pop(int64_t domain)
#ifndef METRALE_PARSER
{
    return nvtxDomainRangePop(metrale_nvtx_domain(domain));
}
#endif
;

/* Begins a range that any thread may end. */
static inline int64_t metrale_nvtx_start(int64_t domain, int64_t string, int category, int argb,
                                         int payload_type, int64_t payload)
#ifndef METRALE_PARSER
{
    const nvtxEventAttributes_t event =
        metrale_nvtx_event(string, nullptr, category, argb, payload_type, payload);

    return static_cast<int64_t>(nvtxDomainRangeStartEx(metrale_nvtx_domain(domain), &event));
}
#endif
;

/* As metrale_nvtx_start, with a text that is not registered. */
static inline int64_t metrale_nvtx_start_text(int64_t domain, const signed char *text, int category,
                                              int argb, int payload_type, int64_t payload)
#ifndef METRALE_PARSER
{
    const nvtxEventAttributes_t event =
        metrale_nvtx_event(0, text, category, argb, payload_type, payload);

    return static_cast<int64_t>(nvtxDomainRangeStartEx(metrale_nvtx_domain(domain), &event));
}
#endif
;

static inline void metrale_nvtx_end(int64_t domain, int64_t id)
#ifndef METRALE_PARSER
{
    nvtxDomainRangeEnd(metrale_nvtx_domain(domain), static_cast<nvtxRangeId_t>(id));
}
#endif
;

/* One point in time. */
static inline void metrale_nvtx_mark(int64_t domain, int64_t string, int category, int argb,
                                     int payload_type, int64_t payload)
#ifndef METRALE_PARSER
{
    const nvtxEventAttributes_t event =
        metrale_nvtx_event(string, nullptr, category, argb, payload_type, payload);

    nvtxDomainMarkEx(metrale_nvtx_domain(domain), &event);
}
#endif
;

/* As metrale_nvtx_mark, with a text that is not registered. */
static inline void metrale_nvtx_mark_text(int64_t domain, const signed char *text, int category,
                                          int argb, int payload_type, int64_t payload)
#ifndef METRALE_PARSER
{
    const nvtxEventAttributes_t event =
        metrale_nvtx_event(0, text, category, argb, payload_type, payload);

    nvtxDomainMarkEx(metrale_nvtx_domain(domain), &event);
}
#endif
;
#endif
