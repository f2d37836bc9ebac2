/* Event sets and GPU performance monitoring: bodies of metrale_nvml.h. Not for the parser. */
#ifndef METRALE_NVML_MONITOR_H
#define METRALE_NVML_MONITOR_H

static inline int metrale_nvml_events_create(int64_t out)
{
    nvmlEventSet_t set = nullptr;
    const int code = METRALE_NVML_HAS(nvmlEventSetCreate) ? nvmlEventSetCreate(&set)
                                                          : NVML_ERROR_FUNCTION_NOT_FOUND;

    *reinterpret_cast<int64_t *>(out) = reinterpret_cast<int64_t>(set);
    return code;
}

static inline int metrale_nvml_events_free(int64_t set)
{
    return METRALE_NVML_HAS(nvmlEventSetFree)
               ? nvmlEventSetFree(reinterpret_cast<nvmlEventSet_t>(set))
               : NVML_ERROR_FUNCTION_NOT_FOUND;
}

static inline int metrale_nvml_events_register(int64_t device, int64_t types, int64_t set)
{
    return METRALE_NVML_HAS(nvmlDeviceRegisterEvents)
               ? nvmlDeviceRegisterEvents(reinterpret_cast<nvmlDevice_t>(device),
                                          static_cast<unsigned long long>(types),
                                          reinterpret_cast<nvmlEventSet_t>(set))
               : NVML_ERROR_FUNCTION_NOT_FOUND;
}

static inline int metrale_nvml_events_wait(int64_t set, int timeout_milliseconds, int64_t out)
{
    nvmlEventData_t *event = reinterpret_cast<nvmlEventData_t *>(out);
    const unsigned int timeout = static_cast<unsigned int>(timeout_milliseconds);

    /* The first version leaves the instances alone. */
    memset(event, 0, sizeof(*event));
    event->gpuInstanceId = 0xFFFFFFFFU;
    event->computeInstanceId = 0xFFFFFFFFU;
    if (METRALE_NVML_HAS(nvmlEventSetWait_v2))
        return nvmlEventSetWait_v2(reinterpret_cast<nvmlEventSet_t>(set), event, timeout);
    if (METRALE_NVML_HAS(nvmlEventSetWait))
        return nvmlEventSetWait(reinterpret_cast<nvmlEventSet_t>(set), event, timeout);
    return NVML_ERROR_FUNCTION_NOT_FOUND;
}

static inline int metrale_nvml_gpm_create(int64_t out)
{
    nvmlGpmSample_t sample = nullptr;
    const int code = METRALE_NVML_HAS(nvmlGpmSampleAlloc) ? nvmlGpmSampleAlloc(&sample)
                                                          : NVML_ERROR_FUNCTION_NOT_FOUND;

    *reinterpret_cast<int64_t *>(out) = reinterpret_cast<int64_t>(sample);
    return code;
}

static inline int metrale_nvml_gpm_free(int64_t sample)
{
    return METRALE_NVML_HAS(nvmlGpmSampleFree)
               ? nvmlGpmSampleFree(reinterpret_cast<nvmlGpmSample_t>(sample))
               : NVML_ERROR_FUNCTION_NOT_FOUND;
}

/* Of the whole GPU for a negative instance. */
static inline int metrale_nvml_gpm_take(int64_t device, int gpu_instance, int64_t sample)
{
    nvmlDevice_t handle = reinterpret_cast<nvmlDevice_t>(device);
    nvmlGpmSample_t into = reinterpret_cast<nvmlGpmSample_t>(sample);

    if (gpu_instance >= 0)
        return METRALE_NVML_HAS(nvmlGpmMigSampleGet)
                   ? nvmlGpmMigSampleGet(handle, static_cast<unsigned int>(gpu_instance), into)
                   : NVML_ERROR_FUNCTION_NOT_FOUND;
    return METRALE_NVML_HAS(nvmlGpmSampleGet) ? nvmlGpmSampleGet(handle, into)
                                              : NVML_ERROR_FUNCTION_NOT_FOUND;
}

static inline int metrale_nvml_gpm_metrics(int64_t first, int64_t second, int64_t metrics,
                                           int count)
{
    struct metrale_nvml_gpm_metric *wanted =
        reinterpret_cast<struct metrale_nvml_gpm_metric *>(metrics);
    nvmlGpmMetricsGet_t request;

    if (!METRALE_NVML_HAS(nvmlGpmMetricsGet))
        return NVML_ERROR_FUNCTION_NOT_FOUND;
    memset(&request, 0, sizeof(request));
    request.version = NVML_GPM_METRICS_GET_VERSION;
    request.numMetrics = static_cast<unsigned int>(count);
    request.sample1 = reinterpret_cast<nvmlGpmSample_t>(first);
    request.sample2 = reinterpret_cast<nvmlGpmSample_t>(second);
    for (int i = 0; i < count; i++)
        request.metrics[i].metricId = wanted[i].id;
    const int code = nvmlGpmMetricsGet(&request);
    for (int i = 0; i < count; i++) {
        wanted[i].code = request.metrics[i].nvmlReturn;
        wanted[i].value = request.metrics[i].value;
    }
    return code;
}
#endif
