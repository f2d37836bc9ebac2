#ifndef METRALE_EMULATOR_NVML_SETTINGS_HPP
#define METRALE_EMULATOR_NVML_SETTINGS_HPP

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/config.h"

/*
 * The emulator's configuration as NVML and cuFile read it: what the common part gives, and above it
 * the file that METRALE_EMULATOR_CONFIG names as it is now, so that a test can steer a running
 * process by writing the file.
 */
namespace metrale::telemetry
{

using emulator::split;
using emulator::trim;

std::optional<std::string> setting(std::string_view key);
std::string setting_or(std::string_view key, std::string_view fallback);
std::int64_t setting_number(std::string_view key, std::int64_t fallback);
bool setting_flag(std::string_view key, bool fallback);

/* Whole number in decimal or, after 0x, hexadecimal; nothing for any other text. */
std::optional<std::uint64_t> parse_unsigned(std::string_view text);
std::optional<std::int64_t> parse_signed(std::string_view text);
std::optional<double> parse_real(std::string_view text);

/* The answer due in a comma-separated sequence; the last one stays. Each key has its own place. */
std::string next_of(std::string_view key, const std::string &text);

void sleep_milliseconds(double milliseconds);

} // namespace metrale::telemetry

#endif
