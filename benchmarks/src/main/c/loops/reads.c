/*
 * Reads a file into device memory with cuFileRead, size by size, alone and by threads that each
 * read a part of 64 MiB. The libraries are those of a folder: REPEATS MILLIS FOLDER FILE.
 * Nanoseconds a read. Ends with 3 and the reason if cuFile does not work there.
 */
#define _GNU_SOURCE
#include <sys/types.h>

#include <cufile.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static ssize_t (*file_read)(CUfileHandle_t, void *, size_t, off_t, off_t);
static CUresult (*set_current)(CUcontext);
static CUcontext context;
static CUfileHandle_t handle;
static char *target;
static size_t size;
static size_t span;
static int threads;

static void *symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);

    bench_require(found != NULL, name);
    return found;
}

static void *open_in(const char *folder, const char *name)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    void *library = dlopen(access(path, F_OK) == 0 ? path : name, RTLD_NOW | RTLD_GLOBAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    return library;
}

/* One after the other through the file, as Java does. */
static void read_all(long times)
{
    size_t at = 0;

    for (long i = 0; i < times; i++) {
        if (file_read(handle, target, size, (off_t)at, (off_t)at) != (ssize_t)size)
            exit(1);
        at = at + 2 * size <= span ? at + size : 0;
    }
}

static void *part(void *given)
{
    const size_t step = 4u << 20;
    const size_t index = (size_t)given;

    set_current(context);
    for (size_t at = index * step; at < span; at += (size_t)threads * step) {
        if (file_read(handle, target, step, (off_t)at, (off_t)at) != (ssize_t)step)
            exit(1);
    }
    return NULL;
}

static void read_split(long times)
{
    pthread_t others[8];

    for (long i = 0; i < times; i++) {
        for (int j = 1; j < threads; j++)
            pthread_create(&others[j], NULL, part, (void *)(size_t)j);
        part((void *)0);
        for (int j = 1; j < threads; j++)
            pthread_join(others[j], NULL);
    }
}

/*
 * A process with one thread is spared every atomic instruction by the C++ and the C library, and
 * the kernel looks its files up for less. No process that works with a GPU has only one.
 */
static void *idle(void *unused)
{
    for (;;)
        pause();
    return unused;
}

int main(int count, char **arguments)
{
    static const size_t sizes[] = {4096, 65536, 1 << 20, 16 << 20, 64 << 20};
    CUfileDescr_t description;
    CUdeviceptr memory = 0;
    CUfileError_t error;
    char name[64];

    bench_require(count > 4, "arguments");
    bench_arguments(count, arguments);
    pthread_t other;
    bench_require(pthread_create(&other, NULL, idle, NULL) == 0, "pthread_create");
    void *cuda = open_in(arguments[3], "libcuda.so.1");
    void *cufile = open_in(arguments[3], "libcufile.so.0");
    CUresult (*init)(unsigned int) = symbol(cuda, "cuInit");
    CUresult (*retain)(CUcontext *, CUdevice) = symbol(cuda, "cuDevicePrimaryCtxRetain");
    CUresult (*allocate)(CUdeviceptr *, size_t) = symbol(cuda, "cuMemAlloc_v2");
    CUfileError_t (*open_driver)(void) = symbol(cufile, "cuFileDriverOpen");
    CUfileError_t (*register_handle)(CUfileHandle_t *, CUfileDescr_t *) =
        symbol(cufile, "cuFileHandleRegister");
    CUfileError_t (*register_buffer)(const void *, size_t, int) =
        symbol(cufile, "cuFileBufRegister");
    set_current = symbol(cuda, "cuCtxSetCurrent");
    file_read = symbol(cufile, "cuFileRead");

    int code = init(0);
    if (code != 0) {
        fprintf(stderr, "cuInit: %d\n", code);
        return 3;
    }
    bench_require(retain(&context, 0) == 0 && set_current(context) == 0, "context");
    span = (size_t)64 << 20;
    bench_require(allocate(&memory, span) == 0, "cuMemAlloc");
    target = (char *)memory;
    error = open_driver();
    if (error.err != CU_FILE_SUCCESS) {
        fprintf(stderr, "cuFileDriverOpen: %d (%d)\n", error.err, error.cu_err);
        return 3;
    }
    memset(&description, 0, sizeof(description));
    description.type = CU_FILE_HANDLE_TYPE_OPAQUE_FD;
    /* As Java does; a file in memory is read from there either way. */
    description.handle.fd = open(arguments[4], O_RDONLY | O_DIRECT);
    if (description.handle.fd < 0)
        description.handle.fd = open(arguments[4], O_RDONLY);
    bench_require(description.handle.fd >= 0, arguments[4]);
    error = register_handle(&handle, &description);
    bench_require(error.err == CU_FILE_SUCCESS, "cuFileHandleRegister");
    error = register_buffer(target, span, 0);
    bench_require(error.err == CU_FILE_SUCCESS, "cuFileBufRegister");
    /* Every page of both is touched once before anything is timed. */
    bench_require(file_read(handle, target, span, 0, 0) == (ssize_t)span, "cuFileRead");
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size = sizes[i];
        snprintf(name, sizeof(name), "read-%zu", size);
        bench(name, read_all);
    }
    for (threads = 1; threads <= 4; threads *= 2) {
        snprintf(name, sizeof(name), "split-%d", threads);
        bench(name, read_split);
    }
    return 0;
}
