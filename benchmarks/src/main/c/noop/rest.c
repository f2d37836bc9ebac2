/* The functions of a library's list that its own file does not define. */
#define NOOP(name)                                                                                 \
    __attribute__((visibility("default"))) int name(void);                                         \
    int name(void)                                                                                 \
    {                                                                                              \
        return 0;                                                                                  \
    }
#include NOOP_REST

/* Tells these libraries from others. */
__attribute__((visibility("default"))) extern const int metrale_noop_marker;
const int metrale_noop_marker = 1;
