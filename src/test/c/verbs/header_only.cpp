// The header alone must do, in C++.
#include "metrale_ibv.h"

extern int header_only_cpp;
int header_only_cpp = METRALE_IBV_BATCH;
