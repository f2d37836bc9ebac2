#ifndef METRALE_EMULATOR_CUFILE_STATS_HPP
#define METRALE_EMULATOR_CUFILE_STATS_HPP

#include "state.hpp"

namespace metrale::gds
{

/* What there is to count; nothing is while statistics are off. */
enum class Operation {
    handle_register,
    handle_deregister,
    buffer_register,
    buffer_deregister,
    batch_setup,
    batch_submit,
    batch_complete,
    batch_cancel,
    batch_destroy
};

void count(Operation operation, bool ok);
void count_registered(int device, std::size_t bytes, bool ok);
void count_deregistered(int device);
void count_transfer(Direction direction, const File &file, int device, ssize_t result, bool aligned,
                    std::uint64_t microseconds);
void count_vector(Direction direction, ssize_t result, std::uint64_t microseconds);

} // namespace metrale::gds

#endif
