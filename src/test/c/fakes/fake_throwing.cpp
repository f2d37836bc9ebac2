/*
 * A fake vendor library whose functions all throw a C++ exception, from a C++ runtime within this
 * file of which nothing is exported. Each does it with something held that only the unwinding gives
 * back; one that finds it still held answers instead.
 */
#include <atomic>
#include <system_error>

namespace
{

std::atomic<bool> held;

struct Holder {
    ~Holder()
    {
        held = false;
    }
};

long fail(int index)
{
    if (held.exchange(true)) {
        return 1000 + index;
    }
    Holder holder;
    throw std::system_error(EAGAIN, std::generic_category());
}

} // namespace

#define FAKE_FUNCTION(index, name)                                                                 \
    extern "C" __attribute__((visibility("default"))) long name(void)                              \
    {                                                                                              \
        return fail(index);                                                                        \
    }
#define FAKE_VERSION_FUNCTION FAKE_FUNCTION
#define FAKE_TEXT_FUNCTION FAKE_FUNCTION

#include FAKE_FUNCTIONS
