#ifndef METRALE_EMULATOR_COMMON_CONFIG_H
#define METRALE_EMULATOR_COMMON_CONFIG_H

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace metrale::emulator
{

/*
 * What the virtual machine looks like. Three sources, the later one wins: a file
 * `emulator.conf` beside the library, the file named by METRALE_EMULATOR_CONFIG, and single
 * variables METRALE_EMULATOR_<KEY> (upper case, dots become underscores).
 *
 * Each emulator library has a copy of its own, filled when it is first asked.
 */
class Configuration
{
  public:
    static Configuration &instance();

    std::string text(std::string_view key, std::string_view fallback) const;
    /* Decimal or 0x..., with an optional KiB, MiB, GiB or TiB. */
    long long number(std::string_view key, long long fallback) const;
    bool flag(std::string_view key, bool fallback) const;
    /* Keys that may be given several times; a variable holds them separated by ';'. */
    std::vector<std::string> list(std::string_view key) const;

    /* Adds lines at run time, for tests that change the machine while it runs. */
    void add(std::string_view lines);
    /* Forgets what add() brought for this key. */
    void remove(std::string_view key);

  private:
    Configuration();
    void read_file(const std::string &path);
    void parse(std::string_view lines);

    mutable std::mutex mutex_;
    std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

/* Folder of the library this code is linked into; empty when it cannot be told. */
std::string library_folder();

std::string_view trim(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);
bool parse_number(std::string_view text, long long *out);

} // namespace metrale::emulator

#endif
