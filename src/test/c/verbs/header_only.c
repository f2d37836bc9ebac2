/* The header alone must do, in strict C. */
#include "metrale_ibv.h"

extern int header_only;
int header_only = METRALE_IBV_BATCH;
