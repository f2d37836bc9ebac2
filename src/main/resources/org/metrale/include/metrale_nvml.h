/*
 * Flat calls of NVML for the checked layer: handles and addresses as 64-bit integers, results in
 * memory that the caller keeps and reuses, one crossing for a whole sample. The caller has checked
 * every argument.
 *
 * Every function answers an nvmlReturn_t. A function that the driver lacks is asked for before it is
 * called and answers NVML_ERROR_FUNCTION_NOT_FOUND (13): nothing here throws. Where NVML has several
 * versions of a call the newest that the library has is used, with the structure that belongs to it;
 * a refusal of the structure's version (25) goes on to the next older one.
 */
#ifndef METRALE_NVML_H
#define METRALE_NVML_H

/*
 * What a query asks; its readers are listed in the same order in metrale_nvml_readers. In brackets:
 * the argument. After the arrow: the values in their order.
 */
enum metrale_nvml_query {
    METRALE_NVML_POWER = 0,                 /* -> milliwatts */
    METRALE_NVML_ENERGY = 1,                /* -> millijoules since the driver was loaded */
    METRALE_NVML_CLOCK = 2,                 /* [nvmlClockType_t] -> megahertz */
    METRALE_NVML_TEMPERATURE = 3,           /* -> degrees Celsius */
    METRALE_NVML_EVENT_REASONS = 4,         /* -> bit mask */
    METRALE_NVML_MEMORY = 5,                /* -> total, free, used, reserved or -1; bytes */
    METRALE_NVML_UTILIZATION = 6,           /* -> GPU, memory; percent */
    METRALE_NVML_PCIE_THROUGHPUT = 7,       /* [nvmlPcieUtilCounter_t] -> kilobytes a second; 20 ms */
    METRALE_NVML_LINKS = 8,                 /* -> active links, links that answered */
    METRALE_NVML_ENCODER = 9,               /* -> percent, microseconds of the period */
    METRALE_NVML_DECODER = 10,              /* the same */
    METRALE_NVML_JPEG = 11,                 /* the same */
    METRALE_NVML_OPTICAL_FLOW = 12,         /* the same */
    METRALE_NVML_PERFORMANCE_STATE = 13,    /* -> 0 (fastest) to 15, 32 unknown */
    METRALE_NVML_MAX_CLOCK = 14,            /* [nvmlClockType_t] -> megahertz */
    METRALE_NVML_APPLICATION_CLOCK = 15,    /* the same */
    METRALE_NVML_DEFAULT_CLOCK = 16,        /* the same, of applications */
    METRALE_NVML_BOOST_CLOCK = 17,          /* the same, the most that a customer may set */
    METRALE_NVML_SUPPORTED_REASONS = 18,    /* -> bit mask */
    METRALE_NVML_VIOLATION = 19,            /* [nvmlPerfPolicyType_t] -> nanoseconds, reference time */
    METRALE_NVML_POWER_LIMIT = 20,          /* -> milliwatts */
    METRALE_NVML_DEFAULT_POWER_LIMIT = 21,  /* -> milliwatts */
    METRALE_NVML_ENFORCED_POWER_LIMIT = 22, /* -> milliwatts */
    METRALE_NVML_POWER_CONSTRAINTS = 23,    /* -> least, most; milliwatts */
    METRALE_NVML_POWER_MANAGEMENT = 24,     /* -> 0 or 1 */
    METRALE_NVML_POWER_SOURCE = 25,         /* -> nvmlPowerSource_t */
    METRALE_NVML_TEMPERATURE_MARGIN = 26,   /* -> degrees left */
    METRALE_NVML_THRESHOLD = 27,            /* [nvmlTemperatureThresholds_t] -> degrees Celsius */
    METRALE_NVML_FAN_COUNT = 28,            /* -> how many */
    METRALE_NVML_FAN_SPEED = 29,            /* [fan] -> percent */
    METRALE_NVML_FAN_TARGET = 30,           /* [fan] -> percent */
    METRALE_NVML_FAN_RPM = 31,              /* [fan] -> revolutions a minute */
    METRALE_NVML_FAN_LIMITS = 32,           /* -> least, most; percent */
    METRALE_NVML_BAR1 = 33,                 /* -> total, free, used; bytes */
    METRALE_NVML_ECC_MODE = 34,             /* -> now, after the next reset */
    METRALE_NVML_DEFAULT_ECC_MODE = 35,     /* -> 0 or 1 */
    METRALE_NVML_ECC_ERRORS = 36,           /* [type | counter << 8] -> how many */
    METRALE_NVML_MEMORY_ERRORS = 37,        /* [type | counter << 8 | location << 16] -> how many */
    METRALE_NVML_REMAPPED_ROWS = 38,        /* -> corrected, uncorrected, pending, failed */
    METRALE_NVML_REMAPPER_HISTOGRAM = 39,   /* -> max, high, partial, low, none */
    METRALE_NVML_REPAIR_STATUS = 40,        /* -> channel, TPC repair pending */
    METRALE_NVML_PCIE_GENERATION = 41,      /* -> generation now */
    METRALE_NVML_PCIE_MAX_GENERATION = 42,  /* -> generation of this slot and device */
    METRALE_NVML_PCIE_DEVICE_GENERATION = 43, /* -> generation of the device */
    METRALE_NVML_PCIE_WIDTH = 44,             /* -> lanes now */
    METRALE_NVML_PCIE_MAX_WIDTH = 45,         /* -> lanes */
    METRALE_NVML_PCIE_SPEED = 46,             /* -> megabits a second and lane */
    METRALE_NVML_PCIE_REPLAYS = 47,           /* -> how many */
    METRALE_NVML_LINK_STATE = 48,             /* [link] -> 0 or 1 */
    METRALE_NVML_LINK_VERSION = 49,           /* [link] -> nvmlNvlinkVersion_t */
    METRALE_NVML_LINK_ERRORS = 50,            /* [link | counter << 8] -> how many */
    METRALE_NVML_LINK_REMOTE_TYPE = 51,       /* [link] -> nvmlIntNvLinkDeviceType_t */
    METRALE_NVML_MIG_MODE = 52,               /* -> now, after the next reset */
    METRALE_NVML_IS_MIG = 53,                 /* -> 0 or 1 */
    METRALE_NVML_MAX_MIG = 54,                /* -> how many */
    METRALE_NVML_GPU_INSTANCE = 55,           /* -> id */
    METRALE_NVML_COMPUTE_INSTANCE = 56,       /* -> id */
    METRALE_NVML_ATTRIBUTES = 57, /* -> multiprocessors, copy engines, decoders, GPU instance slices,
                                     compute instance slices, memory in MB */
    METRALE_NVML_COMPUTE_CAPABILITY = 58, /* -> major, minor */
    METRALE_NVML_ARCHITECTURE = 59,       /* -> nvmlDeviceArchitecture_t */
    METRALE_NVML_BRAND = 60,              /* -> nvmlBrandType_t */
    METRALE_NVML_CORES = 61,              /* -> how many */
    METRALE_NVML_BUS_WIDTH = 62,          /* -> bits */
    METRALE_NVML_MINOR = 63,              /* -> N of /dev/nvidiaN */
    METRALE_NVML_INDEX = 64,              /* -> NVML's index */
    METRALE_NVML_PCI = 65,                /* -> domain, bus, device, device id, subsystem id */
    METRALE_NVML_MODULE = 66,             /* -> id */
    METRALE_NVML_NUMA_NODE = 67,          /* -> node */
    METRALE_NVML_ADDRESSING_MODE = 68,    /* -> 0 none, 1 HMM, 2 ATS */
    METRALE_NVML_C2C = 69,                /* -> 0 or 1 */
    METRALE_NVML_PERSISTENCE = 70,        /* -> 0 or 1 */
    METRALE_NVML_COMPUTE_MODE = 71,       /* -> nvmlComputeMode_t */
    METRALE_NVML_DISPLAY = 72,            /* -> 0 or 1: a display is initialised */
    METRALE_NVML_GSP = 73,                /* -> now, by default */
    METRALE_NVML_SUPPORTED_EVENTS = 74,   /* -> bit mask */
    METRALE_NVML_GPM_SUPPORT = 75,        /* -> 0 or 1 */
    METRALE_NVML_ENCODER_CAPACITY = 76,   /* [nvmlEncoderType_t] -> percent */
    METRALE_NVML_ENCODER_STATISTICS = 77, /* -> sessions, frames a second, microseconds */
    METRALE_NVML_QUERIES = 78
};

/* What a text query asks. */
enum metrale_nvml_text_query {
    METRALE_NVML_TEXT_NAME = 0,
    METRALE_NVML_TEXT_UUID = 1,
    METRALE_NVML_TEXT_SERIAL = 2,
    METRALE_NVML_TEXT_VBIOS = 3,
    METRALE_NVML_TEXT_PART_NUMBER = 4,
    METRALE_NVML_TEXT_INFOROM = 5,
    METRALE_NVML_TEXT_GSP_FIRMWARE = 6,
    METRALE_NVML_TEXT_PCI = 7,
    METRALE_NVML_TEXT_DRIVER = 8,
    METRALE_NVML_TEXT_NVML = 9,
    METRALE_NVML_TEXT_PROCESS = 10, /* [process id] */
    METRALE_NVML_TEXT_ERROR = 11    /* [code] */
};

/* How a device is named. */
enum metrale_nvml_device_key {
    METRALE_NVML_BY_INDEX = 0,  /* number: NVML's index */
    METRALE_NVML_BY_UUID = 1,   /* number: address of the text */
    METRALE_NVML_BY_PCI = 2,    /* number: address of the text */
    METRALE_NVML_MIG = 3,       /* number: handle of the whole GPU; index */
    METRALE_NVML_MIG_PARENT = 4 /* number: handle of the MIG device */
};

#ifndef METRALE_PARSER
/* Old drivers have nothing else than what the newest header calls deprecated. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include "metrale_nvml_calls.h"
#pragma GCC diagnostic pop
#endif

/* Starts NVML; each success needs one metrale_nvml_shutdown(). */
static inline int metrale_nvml_init(void);
static inline int metrale_nvml_shutdown(void);

/* Writes the number of GPUs, MIG devices not counted, as an int32_t. */
static inline int metrale_nvml_count(int64_t out);

/* Writes a device's handle as an int64_t. */
static inline int metrale_nvml_device(int key, int64_t number, int index, int64_t out);

/* Answers one query into one struct metrale_nvml_answer. */
static inline int metrale_nvml_query_one(int64_t device, int query, int argument, int64_t answer);

/*
 * Answers `count` queries, given as struct metrale_nvml_step at `plan`, into as many struct
 * metrale_nvml_answer at `answers`. Returns how many were answered with a value.
 */
static inline int metrale_nvml_sample(int64_t device, int64_t plan, int count, int64_t answers);

/* Writes a text with its NUL; `length` is the room for both. */
static inline int metrale_nvml_text(int64_t device, int query, int argument, int64_t out,
                                    int length);

/* Fills `count` nvmlFieldValue_t at `fields`, whose ids and scopes are set. */
static inline int metrale_nvml_fields(int64_t device, int64_t fields, int count);

/*
 * Writes up to `capacity` running processes of a kind (0 compute, 1 graphics, 2 MPS) as
 * nvmlProcessInfo_v2_t, whichever version answered, and their true number as an int32_t at `count`.
 */
static inline int metrale_nvml_processes(int64_t device, int kind, int64_t out, int capacity,
                                         int64_t count);

/* Writes up to `capacity` clocks in MHz as uint32_t, of the memory or, for a memory clock, of the
 * graphics engine; and their true number as an int32_t at `count`. */
static inline int metrale_nvml_clocks(int64_t device, int memory_megahertz, int64_t out,
                                      int capacity, int64_t count);

/* Writes one struct metrale_nvml_fabric. */
static inline int metrale_nvml_fabric_info(int64_t device, int64_t out);

/* Event sets; a wait writes one nvmlEventData_t and answers NVML_ERROR_TIMEOUT (10) when it is over. */
static inline int metrale_nvml_events_create(int64_t out);
static inline int metrale_nvml_events_free(int64_t set);
static inline int metrale_nvml_events_register(int64_t device, int64_t types, int64_t set);
static inline int metrale_nvml_events_wait(int64_t set, int timeout_milliseconds, int64_t out);

/* GPU performance monitoring: a metric is what lies between two samples. */
static inline int metrale_nvml_gpm_create(int64_t out);
static inline int metrale_nvml_gpm_free(int64_t sample);
static inline int metrale_nvml_gpm_take(int64_t device, int gpu_instance, int64_t sample);
/* Fills `count` struct metrale_nvml_gpm_metric at `metrics`, whose ids are set. */
static inline int metrale_nvml_gpm_metrics(int64_t first, int64_t second, int64_t metrics,
                                           int count);
#endif
