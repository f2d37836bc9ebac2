/*
 * Stands before syscall(2) of the C library: once the file METRALE_TEST_BARRIER exists, membarrier
 * is refused. With METRALE_TEST_BARRIER_RESTORED, as in a process that was restored from an image,
 * it works again after it was registered again. Each refusal adds a byte to the file.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int registered;

static int is_refused(long command)
{
    const char *file = getenv("METRALE_TEST_BARRIER");
    int descriptor = file == NULL ? -1 : open(file, O_WRONLY | O_APPEND);
    int refused = 0;

    if (descriptor < 0) {
        return 0;
    }
    if (getenv("METRALE_TEST_BARRIER_RESTORED") == NULL) {
        refused = 1;
    } else if (command == MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) {
        atomic_store(&registered, 1);
    } else {
        refused = atomic_load(&registered) == 0;
    }
    if (refused && write(descriptor, "x", 1) != 1) {
        abort();
    }
    close(descriptor);
    return refused;
}

long syscall(long number, ...)
{
    static _Atomic(long (*)(long, ...)) next;
    long (*real)(long, ...) = atomic_load(&next);
    long a[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(list, long);
    }
    va_end(list);
    if (number == SYS_membarrier && is_refused(a[0])) {
        errno = EPERM;
        return -1;
    }
    if (real == NULL) {
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
        atomic_store(&next, real);
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
