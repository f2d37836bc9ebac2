#ifndef METRALE_EMULATOR_NVML_PROFILES_HPP
#define METRALE_EMULATOR_NVML_PROFILES_HPP

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace metrale::telemetry
{

/* Key to text, with the syntax of the settings file; a key that is not there is not supported by
 * that part. */
using Profile = std::map<std::string, std::string, std::less<>>;

/* The h200 profile for a name that is not known. */
const Profile &profile_of(std::string_view kind);

struct Driver {
    int major;                /* 470, 535, 550, 580, 610 */
    std::string version;      /* as nvmlSystemGetDriverVersion says it */
    std::string nvml;         /* as nvmlSystemGetNVMLVersion says it */
    int cuda;                 /* 1000 * major + 10 * minor */
    unsigned int field_count; /* field ids below it are known */
    bool old_field_numbers;   /* before 580.82 */
};

/* Of a branch ("580") or a full version ("580.65.06"). */
Driver driver_of(std::string_view version);

/* The first driver branch that exports the function. */
int driver_with(std::string_view function);

/* All that came after that branch. */
std::vector<std::string> functions_after(int major);

} // namespace metrale::telemetry

#endif
