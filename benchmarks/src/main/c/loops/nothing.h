/* A function with nothing in it, in glue as the library's: what is left is the way there. */
#ifndef METRALE_BENCHMARKS_NOTHING_H
#define METRALE_BENCHMARKS_NOTHING_H
#include <stdint.h>

static inline int metrale_nothing(int64_t argument)
{
    return (int)argument;
}
#endif
