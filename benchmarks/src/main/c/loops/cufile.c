/* Calls that answer a CUfileError_t. */
#include <sys/types.h>

#include <cufile.h>

#include "bench.h"

static char memory[4096];

static void register_pair(long times)
{
    while (times-- > 0) {
        if (cuFileBufRegister(memory, sizeof(memory), 0).err != CU_FILE_SUCCESS)
            exit(1);
        if (cuFileBufDeregister(memory).err != CU_FILE_SUCCESS)
            exit(1);
    }
}

int main(int count, char **arguments)
{
    bench_arguments(count, arguments);
    bench("register-deregister", register_pair);
    return 0;
}
