#ifndef METRALE_EMULATOR_NCCL_COLLECTIVE_H
#define METRALE_EMULATOR_NCCL_COLLECTIVE_H

#include "nccl/group.h"

namespace metrale::emulator::nccl
{

/*
 * The common way of all stream operations: faults, handle, state, arguments, then the stream or
 * the group. `config` may be null.
 */
ncclResult_t call_operation(const char *function, ncclComm_t comm, Operation operation,
                            const ncclCollConfig_t *config = nullptr);

} // namespace metrale::emulator::nccl

#endif
