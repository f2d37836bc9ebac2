/*
 * A fake vendor library: every function of a list, each with an answer that tells which one it is.
 * Nothing calls these from C and the glue brings its own prototypes, so here they have none of the
 * vendor's.
 */

#define FAKE_EXPORT __attribute__((visibility("default")))

/* Answers a number of its own, whatever it is given. */
#define FAKE_FUNCTION(index, name)                                                                 \
    FAKE_EXPORT long name(void);                                                                   \
    long name(void)                                                                                \
    {                                                                                              \
        return 1000 + index;                                                                       \
    }

/* Tells the version that the fake claims, as the loader asks for it. */
#define FAKE_VERSION_FUNCTION(index, name)                                                         \
    FAKE_EXPORT long name(int *version);                                                           \
    long name(int *version)                                                                        \
    {                                                                                              \
        if (version != 0) {                                                                        \
            *version = FAKE_VERSION;                                                               \
        }                                                                                          \
        return version != 0 ? 0 : 1000 + index;                                                    \
    }

/* Answers a text, which the caller may read. */
#define FAKE_TEXT_FUNCTION(index, name)                                                            \
    FAKE_EXPORT const char *name(void);                                                            \
    const char *name(void)                                                                         \
    {                                                                                              \
        return "text " #index;                                                                     \
    }

#include FAKE_FUNCTIONS

#ifdef FAKE_MARKER
FAKE_EXPORT extern const int metrale_emulator_marker;
const int metrale_emulator_marker = 1;
#endif
