/* The run-time table of libcufile. */
#ifndef METRALE_CUFILE_TABLE_H
#define METRALE_CUFILE_TABLE_H
#ifndef METRALE_PARSER
#include <cufile.h>
#define METRALE_LIBRARY "cufile"
#define METRALE_FUNCTIONS "metrale_cufile_functions.h"
#endif
#include "metrale_table.h"
#ifndef METRALE_PARSER
#include "metrale_cufile_older.h"

/* cuFile's version code, or -1 if the library is too old to have one. */
static inline int metrale_table_version(void)
{
    int version = -1;

    if (!metrale_table_has("cuFileGetVersion") || cuFileGetVersion(&version).err != CU_FILE_SUCCESS) {
        return -1;
    }
    return version;
}

/* The header renames cuFileDriverClose to its second version, which older libraries lack. */
extern "C" CUfileError_t cuFileDriverClose_v1(void) __asm__("cuFileDriverClose");
#else
CUfileError_t cuFileDriverClose_v1(void);
#endif
#endif
