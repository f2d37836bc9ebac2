#ifndef METRALE_EMULATOR_COMMON_LIBRARY_H
#define METRALE_EMULATOR_COMMON_LIBRARY_H

#include "common/absent.h"
#include "common/config.h"
#include "common/fault.h"

#define METRALE_EMULATOR_EXPORT extern "C" __attribute__((visibility("default")))

/*
 * What every emulator library has, once per library, at file scope:
 *  - metrale_emulator_marker: tells a loader that this is not the vendor's library;
 *  - metrale_emulator_<name>_configure(lines): adds configuration lines in a running process
 *    and reads the faults anew; NULL forgets all faults that were added this way.
 */
#define METRALE_EMULATOR_LIBRARY(name, text)                                                       \
    METRALE_EMULATOR_EXPORT const char metrale_emulator_marker[];                                  \
    const char metrale_emulator_marker[] = text;                                                   \
    METRALE_EMULATOR_EXPORT void metrale_emulator_##name##_configure(const char *lines);           \
    void metrale_emulator_##name##_configure(const char *lines)                                    \
    {                                                                                              \
        if (lines != nullptr)                                                                      \
            ::metrale::emulator::Configuration::instance().add(lines);                             \
        else                                                                                       \
            ::metrale::emulator::Configuration::instance().remove("fault");                        \
        ::metrale::emulator::Faults::instance().reload();                                          \
    }

#endif
