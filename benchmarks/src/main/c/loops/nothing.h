/* A function with nothing in it, in glue as the library's: what is left is the way there. */
#ifndef METRALE_BENCHMARKS_NOTHING_H
#define METRALE_BENCHMARKS_NOTHING_H
#include <stdint.h>

static inline int metrale_nothing(int64_t argument)
{
    return (int)argument;
}

/* With as many arguments as the calls that are compared with it. */
static inline int metrale_nothing_two(int64_t a, int64_t b)
{
    return (int)(a ^ b);
}

static inline int metrale_nothing_four(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (int)(a ^ b ^ c ^ d);
}

static inline int metrale_nothing_eight(int64_t a, int64_t b, int64_t c, int64_t d, int64_t e,
                                        int64_t f, int64_t g, int64_t h)
{
    return (int)(a ^ b ^ c ^ d ^ e ^ f ^ g ^ h);
}
#endif
