#ifndef METRALE_EMULATOR_NCCL_INIT_H
#define METRALE_EMULATOR_NCCL_INIT_H

#include "nccl/group.h"

namespace metrale::emulator::nccl
{

BoardId board_id(const ncclUniqueId &id);

/* A blocking communicator that could not be made is not there afterwards. */
ncclResult_t settle_new(const std::shared_ptr<Comm> &comm, ncclComm_t *out, ncclResult_t result);

/* All ways in which a rank joins a new communicator by an id. */
ncclResult_t init_rank(const char *function, ncclComm_t *out, int nranks, const ncclUniqueId &id,
                       int rank, const ncclConfig_t *user);

} // namespace metrale::emulator::nccl

#endif
