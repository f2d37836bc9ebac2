#ifndef METRALE_EMULATOR_IBVERBS_MEMORY_H
#define METRALE_EMULATOR_IBVERBS_MEMORY_H

#include "ibverbs/objects.h"

namespace metrale::emulator::ibv
{

/* NULL with errno set, as the kernel would. */
ibv_mr *register_memory(Domain &domain, void *address, size_t length, uint64_t iova,
                        unsigned access);
ibv_mr *register_dma_buf(Domain &domain, uint64_t offset, size_t length, uint64_t iova, int fd,
                         int access);
int deregister(Region *region);

} // namespace metrale::emulator::ibv

#endif
