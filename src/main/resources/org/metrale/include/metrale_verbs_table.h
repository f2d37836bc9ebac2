/* The run-time table of libibverbs; its functions are called by the shim, metrale_ibv.c. */
#ifndef METRALE_VERBS_TABLE_H
#define METRALE_VERBS_TABLE_H
#ifndef METRALE_PARSER
#define METRALE_LIBRARY "ibverbs"
#define METRALE_FUNCTIONS "metrale_verbs_functions.h"
/* Their types are known to the shim alone. */
#define METRALE_UNDECLARED
#endif
#include "metrale_table.h"
#ifndef METRALE_PARSER
/* libibverbs has no call that tells its version. */
static inline int metrale_table_version(void)
{
    return -1;
}
#endif
#endif
