#include "noop.h"

NOOP int cudaRuntimeGetVersion(int *version);
NOOP int cudaRuntimeGetVersion(int *version)
{
    *version = 13030;
    return 0;
}
