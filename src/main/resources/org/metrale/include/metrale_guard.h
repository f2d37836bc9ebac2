/*
 * The stubs of the run-time table, and what keeps a C++ exception of a vendor library from ending
 * the process; a part of metrale_table.h.
 *
 * The glue has a C++ runtime of its own, and the library has another: neither's unwinder can read
 * the other's frames, so no handler that a compiler makes would do. Therefore a stub is a frame, a
 * guard, that names a personality routine of ours, and all that this asks of the unwinder that
 * throws, whichever it is, is to be called. It says that there is a handler, so everything between
 * is cleaned up; called again when that is done, it walks up the stack with the glue's own unwinder
 * and goes on as if the guard had jumped to metrale_table_threw.
 *
 * Functions that METRALE_BARE names, each between two spaces, have a stub without a frame: they are
 * called so often that it would be seen, and have nothing to throw.
 */
#ifndef METRALE_GUARD_H
#define METRALE_GUARD_H
#include <cxxabi.h>
#include <libunwind.h>
#include <typeinfo>
#include <unwind.h>

#include <string_view>

#ifndef METRALE_BARE
#define METRALE_BARE ""
#endif

namespace
{

template <int index, bool bare, class Function> struct metrale_guard;

template <int index, bool bare, class Answer, class... Arguments>
struct metrale_guard<index, bare, Answer(Arguments...)> {
    __attribute__((noinline)) static Answer call(Arguments... arguments)
    {
        auto function = reinterpret_cast<Answer (*)(Arguments...)>(
            __atomic_load_n(&metrale_table_slots[index], __ATOMIC_RELAXED));
        if constexpr (bare) {
            [[clang::musttail]] return function(arguments...);
        } else {
            /* 0x1b: as a distance in four bytes. */
            asm volatile(".cfi_personality 0x1b, metrale_guard_personality");
            /* Something is left to do after the call, or it would be a jump without a frame. */
            if constexpr (std::is_void<Answer>::value) {
                function(arguments...);
                asm volatile("");
            } else {
                Answer answer = function(arguments...);
                asm volatile("");
                return answer;
            }
        }
    }
};

} // namespace

static constexpr bool metrale_guard_is_bare(std::string_view name)
{
    return std::string_view(METRALE_BARE).find(name) != std::string_view::npos;
}

#define METRALE_GUARD(index, name)                                                                 \
    (&metrale_guard<index, metrale_guard_is_bare(" " #name " "), decltype(name)>::call)

#define METRALE_FUNCTION(index, name) reinterpret_cast<void *>(METRALE_GUARD(index, name)),
static void *const metrale_guards[] = {
#include METRALE_FUNCTIONS
};
#undef METRALE_FUNCTION

/* Gives the stubs the functions' names, by which everything calls them; is not called itself. */
#define METRALE_FUNCTION(index, name)                                                              \
    asm volatile(".globl " #name "\n.hidden " #name "\n.set " #name                                \
                 ", %c0" ::"i"(METRALE_GUARD(index, name)));
__attribute__((used)) static void metrale_guard_name_all()
{
#include METRALE_FUNCTIONS
}
#undef METRALE_FUNCTION

/* Where a library's call goes on that threw; `text` was allocated, or is null. */
extern "C" __attribute__((visibility("hidden"), cold, used, noinline)) intptr_t
metrale_table_threw(int index, char *text)
{
    char message[512];

    snprintf(message, sizeof(message), "%s %s %s", METRALE_LIBRARY, metrale_table_names[index],
             text != nullptr ? text : "");
    free(text);
    if (metrale_table_kinds[index] == METRALE_STRUCTURE) {
        throw metrale_failure(METRALE_THREW, message);
    }
    metrale_table_raise(METRALE_THREW, message);
    return metrale_table_kinds[index] == METRALE_ADDRESS ? 0 : -1;
}

#if defined(__aarch64__)
/* The unwinder goes to an address by returning to it, so the real return address comes in x2. */
extern "C" __attribute__((visibility("hidden"))) char metrale_guard_land[];
asm(".text\n.p2align 4\n.hidden metrale_guard_land\nmetrale_guard_land:\n.cfi_startproc\n"
    "mov x30, x2\nb metrale_table_threw\n.cfi_endproc\n");
#endif

/* Goes up to the guard that is called from here, or answers -1 if this stack cannot be read. */
static int metrale_guard_find(unw_cursor_t *cursor, unw_context_t *context)
{
    unw_proc_info_t frame;

    if (unw_init_local(cursor, context) != UNW_ESUCCESS) {
        return -1;
    }
    while (unw_step(cursor) > 0) {
        if (unw_get_proc_info(cursor, &frame) != UNW_ESUCCESS) {
            return -1;
        }
        for (int index = 0; index < metrale_table_size; index++) {
            if (frame.start_ip == reinterpret_cast<uintptr_t>(metrale_guards[index])) {
                return index;
            }
        }
    }
    return -1;
}

/* Whether a class is std::exception or derived from it by single inheritance, as all usual are. */
static bool metrale_guard_is_standard(const std::type_info *type)
{
    /* By names, since the types of another runtime are not those of ours. */
    struct class_info {
        const void *const *functions;
        const char *name;
        const class_info *base;
    };
    const class_info *info = reinterpret_cast<const class_info *>(type);

    while (strcmp(info->name, "St9exception") != 0) {
        const class_info *kind = static_cast<const class_info *>(info->functions[-1]);
        if (strcmp(kind->name, "N10__cxxabiv120__si_class_type_infoE") != 0) {
            return false;
        }
        info = info->base;
    }
    return true;
}

/* The type of the exception that is being handled and what it says, in allocated memory or null. */
static char *metrale_guard_describe(const std::type_info *type, void *object)
{
    const char *what = "";
    char *text = nullptr;

    if (object != nullptr && metrale_guard_is_standard(type)) {
        /* After the two destructors, what() is the class's third virtual function. */
        typedef const char *(*what_function)(const void *);
        what = (*static_cast<what_function *const *>(object))[2](object);
    }
    /* A star marks a class that is local to its file. */
    const char *mangled = type->name() + (*type->name() == '*' ? 1 : 0);
    char *name = abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr);
    const int length =
        asprintf(&text, "%s%s%.200s", name != nullptr ? name : mangled,
                 what != nullptr && *what != '\0' ? ": " : "", what != nullptr ? what : "");
    free(name);
    if (length < 0) {
        return nullptr;
    }
    /* Java gets it as a text of its own encoding. */
    for (char *c = text; *c != '\0'; c++) {
        *c = *c >= ' ' && *c <= '~' ? *c : '?';
    }
    return text;
}

/* Ends a foreign exception as a handler would, and answers what it was if its runtime can say. */
static char *metrale_guard_end(uint64_t kind, _Unwind_Exception *exception)
{
    Dl_info thrower;
    Dl_info found;

    /* "C++" of any vendor. Its runtime is where it is freed, and has these three functions. */
    if ((kind & 0xffffff00U) == 0x432b2b00U &&
        dladdr(reinterpret_cast<void *>(exception->exception_cleanup), &thrower) != 0) {
        void *runtime = dlopen(thrower.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
        void *begin = runtime != nullptr ? dlsym(runtime, "__cxa_begin_catch") : nullptr;
        void *end = runtime != nullptr ? dlsym(runtime, "__cxa_end_catch") : nullptr;
        void *type = runtime != nullptr ? dlsym(runtime, "__cxa_current_exception_type") : nullptr;
        char *text = nullptr;
        const bool its_own = begin != nullptr && end != nullptr && type != nullptr &&
                             dladdr(begin, &found) != 0 && found.dli_fbase == thrower.dli_fbase;
        if (its_own) {
            reinterpret_cast<void *(*)(void *)>(begin)(exception);
            /* The object is behind the header, unless this is a copy that was thrown again. */
            text = metrale_guard_describe(reinterpret_cast<const std::type_info *(*)()>(type)(),
                                          (kind & 0xff) == 0 ? static_cast<void *>(exception + 1)
                                                             : nullptr);
            reinterpret_cast<void (*)()>(end)();
        }
        if (runtime != nullptr) {
            dlclose(runtime);
        }
        if (its_own) {
            return text;
        }
    }
    if (exception->exception_cleanup != nullptr) {
        exception->exception_cleanup(_URC_FOREIGN_EXCEPTION_CAUGHT, exception);
    }
    return nullptr;
}

/* Whether an exception is of the glue's own runtime. */
static bool metrale_guard_is_ours(const _Unwind_Exception *exception)
{
    Dl_info glue;
    Dl_info runtime;

    return dladdr(metrale_table_slots, &glue) != 0 &&
           dladdr(reinterpret_cast<void *>(exception->exception_cleanup), &runtime) != 0 &&
           glue.dli_fbase == runtime.dli_fbase;
}

/* What the unwinder of a library that throws calls for a guard; its context means nothing here. */
extern "C" __attribute__((visibility("hidden"), cold, used, noinline)) _Unwind_Reason_Code
metrale_guard_personality(int, _Unwind_Action actions, uint64_t kind, _Unwind_Exception *exception,
                          struct _Unwind_Context *)
{
    unw_context_t context;
    unw_cursor_t cursor;
    unw_word_t back = 0;
    unw_word_t stack = 0;

    /* A thread that is cancelled goes through, and what the glue throws itself. */
    if ((actions & _UA_FORCE_UNWIND) != 0 || metrale_guard_is_ours(exception)) {
        return _URC_CONTINUE_UNWIND;
    }
    unw_getcontext(&context);
    const int index = metrale_guard_find(&cursor, &context);
    if ((actions & _UA_SEARCH_PHASE) != 0) {
        return index >= 0 ? _URC_HANDLER_FOUND : _URC_CONTINUE_UNWIND;
    }
    /* Above may be code of the JVM, which can be returned to, but not be stepped through. */
    if (index < 0 || unw_step(&cursor) < 0 ||
        unw_get_reg(&cursor, UNW_REG_IP, &back) != UNW_ESUCCESS ||
        unw_get_reg(&cursor, UNW_REG_SP, &stack) != UNW_ESUCCESS) {
        return _URC_FATAL_PHASE2_ERROR;
    }
    char *text = metrale_guard_end(kind, exception);
#if defined(__x86_64__)
    /* The return address is where the call of the guard left it. */
    unw_set_reg(&cursor, UNW_REG_SP, stack - sizeof(void *));
    unw_set_reg(&cursor, UNW_X86_64_RDI, static_cast<unw_word_t>(index));
    unw_set_reg(&cursor, UNW_X86_64_RSI, reinterpret_cast<uintptr_t>(text));
    unw_set_reg(&cursor, UNW_REG_IP, reinterpret_cast<uintptr_t>(&metrale_table_threw));
#elif defined(__aarch64__)
    unw_set_reg(&cursor, UNW_AARCH64_X0, static_cast<unw_word_t>(index));
    unw_set_reg(&cursor, UNW_AARCH64_X1, reinterpret_cast<uintptr_t>(text));
    unw_set_reg(&cursor, UNW_AARCH64_X2, back);
    unw_set_reg(&cursor, UNW_REG_IP, reinterpret_cast<uintptr_t>(&metrale_guard_land));
#endif
    unw_resume(&cursor);
    return _URC_FATAL_PHASE2_ERROR;
}
#endif
