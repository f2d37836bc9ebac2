/*
 * Times a loop with the clock that Java's nanoTime reads. Each program takes how many repeats and
 * how many milliseconds each, and prints one line a work: its name, then nanoseconds an operation,
 * one number a repeat.
 */
#ifndef BENCH_H
#define BENCH_H
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int bench_repeats = 3;
static double bench_nanos = 50e6;

static inline double bench_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static inline void bench_arguments(int count, char **arguments)
{
    if (count > 1)
        bench_repeats = atoi(arguments[1]);
    if (count > 2)
        bench_nanos = 1e6 * atof(arguments[2]);
}

/* `work` does its work that many times. */
static inline void bench(const char *name, void (*work)(long))
{
    long times = 1;
    double begin;
    double took = 0;

    for (; took < bench_nanos / 4; times *= 2) {
        begin = bench_now();
        work(times);
        took = bench_now() - begin;
    }
    times = (long)((double)times / 2 * bench_nanos / took) + 1;
    printf("%s", name);
    for (int i = 0; i < bench_repeats; i++) {
        begin = bench_now();
        work(times);
        printf(" %.4f", (bench_now() - begin) / (double)times);
    }
    printf("\n");
    fflush(stdout);
}

/* Ends the program if a call did not do what it should. */
static inline void bench_require(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "failed: %s\n", what);
        exit(1);
    }
}
#endif
