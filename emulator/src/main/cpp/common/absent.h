#ifndef METRALE_EMULATOR_COMMON_ABSENT_H
#define METRALE_EMULATOR_COMMON_ABSENT_H

#include <string>
#include <vector>

namespace metrale::emulator
{

/*
 * Makes exported functions of the library this code is linked into unfindable by dlsym.
 *
 * The library edits its own dynamic symbol table as mapped in memory, so that one file serves
 * every variant and the file on disk stays as it is. To be called from a constructor: dlsym can
 * only be called after dlopen returned. Callers bound at link time keep their function.
 *
 * Returns how many symbols were hidden.
 */
int hide_symbols(const std::vector<std::string> &names);

/* Hides what `absent = NAME` asks for, and `more`. */
void hide_configured_symbols(const std::vector<std::string> &more = {});

} // namespace metrale::emulator

#endif
