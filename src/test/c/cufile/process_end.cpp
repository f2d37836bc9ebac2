// Opens cuFile's driver, and closes it while the process runs or only while it ends: by the same
// calls as Java, in a process that does not stop them as a virtual machine does.
//
//   process_end LIBRARY [close]
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "metrale_cufile_table.h"

#include "metrale_cufile.h"

namespace
{

void tell(const char *when, int64_t answer)
{
    std::printf("%s: answer %lld, users %ld\n", when, static_cast<long long>(answer),
                cuFileUseCount());
    std::fflush(stdout);
}

void at_end()
{
    tell("close at the end", metrale_cufile_driver_close());
}

} // namespace

int main(int count, char **arguments)
{
    const char *why =
        count < 2 ? "a library is needed" : metrale_table_open(arguments[1], METRALE_OPEN, nullptr);

    if (why != nullptr) {
        std::fprintf(stderr, "%s\n", why);
        return 2;
    }
    // Before the driver is opened, so it runs after what that leaves for the end.
    std::atexit(at_end);
    tell("open", metrale_cufile_driver_open());
    if (count > 2 && std::strcmp(arguments[2], "close") == 0) {
        tell("close", metrale_cufile_driver_close());
    }
    return 0;
}
