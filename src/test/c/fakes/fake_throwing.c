/*
 * A fake vendor library whose functions all throw a C++ exception of the system's libstdc++.so.6,
 * whose unwinder is libgcc_s.so.1's: as in the libraries that NVIDIA distributes. The compiler of
 * the fakes has another, so this is C, which calls what throws by its name. Every other function
 * throws a class that is local to its file.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>

/* What libstdc++ has for a class without a base. */
struct class_info {
    const void *functions;
    const char *name;
};

/* Throws a class that is local to its file, which the compiler of libstdc++ marks by a star. */
static void throw_local(void *runtime)
{
    static struct class_info local = {0, "*N12_GLOBAL__N_17FailureE"};
    void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(runtime, "__cxa_allocate_exception");
    void (*throws)(void *, void *, void (*)(void *)) =
        (void (*)(void *, void *, void (*)(void *)))dlsym(runtime, "__cxa_throw");
    const void *const *table =
        (const void *const *)dlsym(runtime, "_ZTVN10__cxxabiv117__class_type_infoE");

    if (allocate != 0 && throws != 0 && table != 0) {
        /* Its functions begin behind an offset and the table's own type. */
        local.functions = table + 2;
        throws(allocate(1), &local, 0);
    }
}

static long fail(int index)
{
    void *runtime = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    void (*throws)(int) =
        runtime != 0 ? (void (*)(int))dlsym(runtime, "_ZSt20__throw_system_errori") : 0;

    if (throws != 0 && index % 2 != 0) {
        throw_local(runtime);
    }
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
