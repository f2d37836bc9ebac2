/*
 * A fake vendor library whose functions all throw a C++ exception of the system's libstdc++.so.6,
 * whose unwinder is libgcc_s.so.1's: as in the libraries that NVIDIA distributes. The compiler of
 * the fakes has another, so this is C, which calls what throws by its name.
 */
#include <dlfcn.h>
#include <errno.h>

static long fail(int index)
{
    void *runtime = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    void (*throws)(int) =
        runtime != 0 ? (void (*)(int))dlsym(runtime, "_ZSt20__throw_system_errori") : 0;

    if (throws != 0) {
        throws(EAGAIN);
    }
    return 1000 + index;
}

#define FAKE_FUNCTION(index, name)                                                                 \
    __attribute__((visibility("default"))) long name(void);                                        \
    long name(void)                                                                                \
    {                                                                                              \
        return fail(index);                                                                        \
    }
#define FAKE_VERSION_FUNCTION FAKE_FUNCTION
#define FAKE_TEXT_FUNCTION FAKE_FUNCTION

#include FAKE_FUNCTIONS
