/*
 * The run-time table: how the glue reaches a vendor library without linking it.
 *
 * Included once by the glue of one library, after these two macros are defined:
 *   METRALE_LIBRARY     the library's short name as a string, for example "nccl"
 *   METRALE_FUNCTIONS   the file with one METRALE_FUNCTION(index, name) a function
 *
 * Each function has a hidden stub that calls through a slot (metrale_guard.h). A slot starts at
 * code that knows its index and says that the function is missing; opening a library overwrites the
 * slots of the functions that it has.
 *
 * A missing function that answers a code leaves LibraryUnavailableException to the Java method that
 * called and answers -1, an error of every library: whoever called goes on as after any other
 * failure, and glue without a handler, which costs a call less, can call it. One that answers a
 * structure cannot answer "failed" and throws. The same becomes of one that throws itself, with
 * LibraryThrewException.
 *
 * Invariant: a slot holds either the address of its own code or of the function in the one
 * library that was opened. Slots are written under the mutex and read without it, one aligned word
 * at a time.
 */
#ifndef METRALE_TABLE_H
#define METRALE_TABLE_H
#ifndef METRALE_PARSER

#include <dlfcn.h>
#include <jni.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>
#include <cstring>
#include <exception>
#include <mutex>
#include <string>
#include <type_traits>

#define METRALE_UNAVAILABLE "org/metrale/gpu/LibraryUnavailableException"
#define METRALE_THREW "org/metrale/gpu/LibraryThrewException"

/* Thrown where a function that answers a structure cannot answer; becomes Java's of that type. */
class __attribute__((visibility("hidden"))) metrale_failure : public std::exception
{
  public:
    metrale_failure(const char *type, const char *message) : type(type), message_(message)
    {
    }

    const char *what() const noexcept override
    {
        return message_.c_str();
    }

    const char *const type;

  private:
    std::string message_;
};

/* The function is missing. */
class __attribute__((visibility("hidden"))) metrale_unavailable : public metrale_failure
{
  public:
    explicit metrale_unavailable(const char *function)
        : metrale_failure(METRALE_UNAVAILABLE,
                          (std::string(METRALE_LIBRARY " ") + function).c_str())
    {
    }
};

#define METRALE_FUNCTION(index, name) #name,
static const char *const metrale_table_names[] = {
#include METRALE_FUNCTIONS
};
#undef METRALE_FUNCTION

static const int metrale_table_size =
    static_cast<int>(sizeof(metrale_table_names) / sizeof(metrale_table_names[0]));

extern "C" __attribute__((visibility("hidden"))) void *metrale_table_slots[];
extern "C" __attribute__((visibility("hidden"))) void *metrale_table_empty[];

/* A function of the library itself, without the stub and its guard; its index has to be known. */
#define METRALE_OPENED(name)                                                                       \
    (reinterpret_cast<decltype(&name)>(                                                            \
        __atomic_load_n(&metrale_table_slots[metrale_index_##name], __ATOMIC_ACQUIRE)))

/* The virtual machine, set before the glue's class calls anything else. */
static JavaVM *metrale_table_vm;

static inline void metrale_table_attach(JNIEnv *env, jclass)
{
    env->GetJavaVM(&metrale_table_vm);
}

#ifndef METRALE_UNDECLARED
/* Whether an exception was ever left to a method, which may be one of this thread. */
static std::atomic<bool> metrale_table_raised{false};

/*
 * Leaves an exception to the Java method that called, unless there is one already. A thread that
 * came from no Java method gets none.
 */
__attribute__((cold, noinline)) static void metrale_table_raise(const char *type, const char *text)
{
    void *found = nullptr;

    if (metrale_table_vm == nullptr ||
        metrale_table_vm->GetEnv(&found, JNI_VERSION_1_6) != JNI_OK) {
        return;
    }
    JNIEnv *env = static_cast<JNIEnv *>(found);
    if (env->ExceptionCheck() == JNI_FALSE) {
        const jclass thrown = env->FindClass(type);
        if (thrown != nullptr) {
            env->ThrowNew(thrown, text);
        }
        metrale_table_raised.store(true, std::memory_order_relaxed);
    }
}

/*
 * The glue writes a handle back after the call that may have filled it. One that was not made has
 * left its exception, before which nothing may be written, and has filled nothing.
 */
static inline void metrale_table_write_back(JNIEnv *env, jobject object, jfieldID field,
                                            jlong value)
{
    if (__builtin_expect(!metrale_table_raised.load(std::memory_order_relaxed), 1) ||
        env->ExceptionCheck() == JNI_FALSE) {
        env->SetLongField(object, field, value);
    }
}
/* As JavaCPP writes it: env->SetLongField(...), with nothing else to hold on to. */
#pragma GCC diagnostic ignored "-Wunused-value"
#define SetLongField(object, field, value)                                                         \
    functions, metrale_table_write_back(env, object, field, value)

/* For a function that cannot be called; the answer is that of one that failed. */
__attribute__((cold, noinline)) static int metrale_table_lacks(const char *function)
{
    char text[256];

    snprintf(text, sizeof(text), "%s %s", METRALE_LIBRARY, function);
    metrale_table_raise(METRALE_UNAVAILABLE, text);
    return -1;
}

enum metrale_table_kind : unsigned char { METRALE_CODE, METRALE_ADDRESS, METRALE_STRUCTURE };

template <class Answer, class... Arguments>
constexpr metrale_table_kind metrale_table_kind_of(Answer (*)(Arguments...))
{
    return std::is_pointer<Answer>::value ? METRALE_ADDRESS
           : std::is_enum<Answer>::value || std::is_integral<Answer>::value ||
                   std::is_void<Answer>::value
               ? METRALE_CODE
               : METRALE_STRUCTURE;
}
#define METRALE_FUNCTION(index, name) metrale_table_kind_of(&name),
static constexpr metrale_table_kind metrale_table_kinds[] = {
#include METRALE_FUNCTIONS
};
#undef METRALE_FUNCTION

#include "metrale_guard.h"
#endif

extern "C" __attribute__((visibility("hidden"), cold, used, noinline)) intptr_t
metrale_table_missing(int index)
{
#ifdef METRALE_UNDECLARED
    throw metrale_unavailable(metrale_table_names[index]);
#else
    if (metrale_table_kinds[index] == METRALE_STRUCTURE) {
        throw metrale_unavailable(metrale_table_names[index]);
    }
    const int failed = metrale_table_lacks(metrale_table_names[index]);
    return metrale_table_kinds[index] == METRALE_ADDRESS ? 0 : failed;
#endif
}

/* What a slot holds at first; it is jumped to, so it never has a frame. */
#if defined(__x86_64__)
#define METRALE_FUNCTION(index, name)                                                              \
    ".p2align 4\n.Lmetrale_missing_" #index ":\n"                                                  \
    ".cfi_startproc\nendbr64\nmovl $" #index ",%edi\njmp metrale_table_missing\n.cfi_endproc\n"
#elif defined(__aarch64__)
#define METRALE_FUNCTION(index, name)                                                              \
    ".p2align 4\n.Lmetrale_missing_" #index ":\n"                                                  \
    ".cfi_startproc\nhint #34\nmov w0, #" #index "\nb metrale_table_missing\n.cfi_endproc\n"
#else
#error "the run-time table knows x86-64 and arm64"
#endif
asm(".text\n"
#include METRALE_FUNCTIONS
);
#undef METRALE_FUNCTION

#ifdef METRALE_UNDECLARED
/*
 * Stubs of functions whose types are not known here leave every argument register as it is, and
 * have no frame either. What such a function throws ends the process.
 */
#if defined(__x86_64__)
#define METRALE_FUNCTION(index, name)                                                              \
    ".p2align 4\n.globl " #name "\n.hidden " #name "\n.type " #name ",@function\n" #name ":\n"     \
    ".cfi_startproc\nendbr64\njmp *metrale_table_slots+8*" #index "(%rip)\n.cfi_endproc\n"         \
    ".size " #name ",.-" #name "\n"
#elif defined(__aarch64__)
#define METRALE_FUNCTION(index, name)                                                              \
    ".p2align 4\n.globl " #name "\n.hidden " #name "\n.type " #name ",%function\n" #name ":\n"     \
    ".cfi_startproc\nhint #34\nadrp x16, metrale_table_slots+8*" #index "\n"                       \
    "ldr x16, [x16, :lo12:metrale_table_slots+8*" #index "]\nbr x16\n.cfi_endproc\n"               \
    ".size " #name ",.-" #name "\n"
#endif
asm(".text\n"
#include METRALE_FUNCTIONS
);
#undef METRALE_FUNCTION
#endif

#define METRALE_FUNCTION(index, name) ".8byte .Lmetrale_missing_" #index "\n"
asm(".data\n.p2align 3\n.globl metrale_table_slots\n.hidden metrale_table_slots\n"
    "metrale_table_slots:\n"
#include METRALE_FUNCTIONS
    ".section .data.rel.ro,\"aw\"\n.p2align 3\n.globl metrale_table_empty\n"
    ".hidden metrale_table_empty\nmetrale_table_empty:\n"
#include METRALE_FUNCTIONS
    ".text\n");
#undef METRALE_FUNCTION

/* The one library that was opened, or null. Written under the mutex, never closed again. */
static void *metrale_table_handle;
static std::mutex metrale_table_mutex;

/* How to open: from wherever the loader finds it, or only if the process has mapped it already. */
enum metrale_table_mode { METRALE_OPEN = 0, METRALE_OPEN_IF_MAPPED = 1 };

/* Why a library that could be opened is not used, or an empty text. */
static inline std::string metrale_table_refusal(void *handle, const char *refused)
{
    struct link_map *map = nullptr;
    char resolved[PATH_MAX];
    std::string file;

    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) {
        file = realpath(map->l_name, resolved) != nullptr ? resolved : map->l_name;
    }
    if (file.find("/stubs/") != std::string::npos) {
        return "stub library at " + file + ", it only serves for linking";
    }
    if (refused != nullptr && dlsym(handle, refused) != nullptr) {
        return "emulator library at " + file + ", it is used only when the library path names it";
    }
    for (const char *name : metrale_table_names) {
        if (dlsym(handle, name) != nullptr) {
            return std::string();
        }
    }
    return "the library at " + file + " has none of the " + std::to_string(metrale_table_size) +
           " functions of " METRALE_LIBRARY;
}

/*
 * Opens a library and fills the slots, unless it is a stub, exports the symbol `refused` (may be
 * null), or has no function of ours. Answers null on success, else why not. A library that was
 * opened before stays.
 */
static inline const char *metrale_table_open(const char *path, int mode, const char *refused)
{
    static thread_local std::string reason;
    std::lock_guard<std::mutex> lock(metrale_table_mutex);

    if (metrale_table_handle != nullptr) {
        return nullptr;
    }
    const int flags = RTLD_NOW | RTLD_LOCAL | (mode == METRALE_OPEN_IF_MAPPED ? RTLD_NOLOAD : 0);
    dlerror();
    void *handle = dlopen(path, flags);
    if (handle == nullptr) {
        const char *text = dlerror();
        reason = text != nullptr ? text : "not mapped in this process";
        return reason.c_str();
    }
    reason = metrale_table_refusal(handle, refused);
    if (!reason.empty()) {
        /* Nothing of it was called yet, so it may go; an initialised library never does. */
        dlclose(handle);
        return reason.c_str();
    }
    for (int index = 0; index < metrale_table_size; index++) {
        void *function = dlsym(handle, metrale_table_names[index]);
        if (function != nullptr) {
            __atomic_store_n(&metrale_table_slots[index], function, __ATOMIC_RELEASE);
        }
    }
    __atomic_store_n(&metrale_table_handle, handle, __ATOMIC_RELEASE);
    return nullptr;
}

/* The file that the opened library was mapped from, or null before one was opened. */
static inline const char *metrale_table_file(void)
{
    void *handle = __atomic_load_n(&metrale_table_handle, __ATOMIC_ACQUIRE);
    struct link_map *map = nullptr;

    if (handle == nullptr || dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) {
        return nullptr;
    }
    return map->l_name;
}

/* Whether the opened library exports a symbol, bound by us or not. */
static inline bool metrale_table_exports(const char *symbol)
{
    void *handle = __atomic_load_n(&metrale_table_handle, __ATOMIC_ACQUIRE);

    return handle != nullptr && symbol != nullptr && dlsym(handle, symbol) != nullptr;
}

static inline int metrale_table_count(void)
{
    return metrale_table_size;
}

/* The name of a bound function, or null for an index that has none. */
static inline const char *metrale_table_name(int index)
{
    return index >= 0 && index < metrale_table_size ? metrale_table_names[index] : nullptr;
}

/* Whether a bound function is in the opened library. */
static inline bool metrale_table_bound(int index)
{
    return index >= 0 && index < metrale_table_size &&
           __atomic_load_n(&metrale_table_slots[index], __ATOMIC_ACQUIRE) !=
               metrale_table_empty[index];
}

/* Whether a bound function of that name is in the opened library. */
static inline bool metrale_table_has(const char *name)
{
    for (int index = 0; index < metrale_table_size; index++) {
        if (strcmp(metrale_table_names[index], name) == 0) {
            return metrale_table_bound(index);
        }
    }
    return false;
}

/*
 * The glue turns a C++ exception into the Java exception whose index it passes along; here the
 * index is changed for those that name a type, so that everything else keeps its type. The glue's
 * list of class names has the wanted one because a function of the table declares in Java that it
 * throws it.
 */
static inline const char *metrale_exception_text(const std::exception &exception,
                                                 const char *const *class_names, size_t count,
                                                 int *index)
{
    const metrale_failure *failure = dynamic_cast<const metrale_failure *>(&exception);

    for (size_t i = 0; failure != nullptr && i < count; i++) {
        if (strcmp(class_names[i], failure->type) == 0) {
            *index = static_cast<int>(i);
        }
    }
    return exception.what();
}
#define GENERIC_EXCEPTION_CLASS std::exception
#define GENERIC_EXCEPTION_TOSTRING                                                                 \
    what() == nullptr                                                                              \
        ? ""                                                                                       \
        : metrale_exception_text(e, JavaCPP_classNames,                                            \
                                 sizeof(JavaCPP_classNames) / sizeof(JavaCPP_classNames[0]), &i)

#endif
/* Declared for the parser too, so that the recipe can say how they look in Java. */
static inline const char *metrale_table_open(const char *path, int mode, const char *refused);
#endif
