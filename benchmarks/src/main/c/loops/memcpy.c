/*
 * What memory allows: 64 MiB copied by one thread, and by two at once; nanoseconds for 64 MiB
 * copied.
 */
#include <pthread.h>
#include <string.h>

#include "bench.h"

static const size_t BYTES = 64u << 20;
static char *from[2];
static char *to[2];

struct task {
    pthread_t thread;
    int which;
    long times;
};

static void *copy(void *given)
{
    const struct task *task = given;

    for (long i = 0; i < task->times; i++) {
        memcpy(to[task->which], from[task->which], BYTES);
        __asm__ volatile("" ::: "memory");
    }
    return NULL;
}

static void one(long times)
{
    struct task task = {.which = 0, .times = times};

    copy(&task);
}

static void two(long times)
{
    struct task tasks[2] = {{.which = 0, .times = (times + 1) / 2},
                            {.which = 1, .times = times / 2}};

    for (int i = 0; i < 2; i++)
        pthread_create(&tasks[i].thread, NULL, copy, &tasks[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(tasks[i].thread, NULL);
}

int main(int count, char **arguments)
{
    bench_arguments(count, arguments);
    for (int i = 0; i < 2; i++) {
        from[i] = malloc(BYTES);
        to[i] = malloc(BYTES);
        memset(from[i], 1, BYTES);
        memset(to[i], 2, BYTES);
    }
    bench("memcpy-1", one);
    bench("memcpy-2", two);
    return 0;
}
