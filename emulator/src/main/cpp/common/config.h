#ifndef METRALE_EMULATOR_COMMON_CONFIG_H
#define METRALE_EMULATOR_COMMON_CONFIG_H

#include <map>
#include <mutex>
#include <set>
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
 * Each emulator library has a copy of its own, filled when it is first asked. A value that cannot
 * be read counts as not given, and is told on standard error.
 */
class Configuration
{
  public:
    static Configuration &instance();

    std::string text(std::string_view key, std::string_view fallback) const;
    /* Decimal or 0x..., with an optional KiB, MiB, GiB or TiB. */
    long long number(std::string_view key, long long fallback) const;
    /* 1, true, yes, on, or 0, false, no, off. */
    bool flag(std::string_view key, bool fallback) const;
    /* One of these words, the first where none is given. */
    std::string_view choice(std::string_view key, const std::vector<std::string_view> &words) const;
    /* Keys that may be given several times; a variable holds them separated by ';'. */
    std::vector<std::string> list(std::string_view key) const;

    /* Adds lines at run time, for tests that change the machine while it runs. */
    void add(std::string_view lines);
    /* Forgets what add() brought for this key. */
    void remove(std::string_view key);

    /* What number() and flag() make of a text that was found elsewhere. */
    long long number_of(std::string_view key, std::string_view value, long long fallback) const;
    bool flag_of(std::string_view key, std::string_view value, bool fallback) const;
    /* Says once that a value is left out, as it is not what was expected. */
    void refuse(std::string_view key, std::string_view value, std::string_view expected) const;

  private:
    Configuration();
    bool read_file(const std::string &path);
    void parse(std::string_view lines);
    void complain(const std::string &what) const;

    mutable std::mutex mutex_;
    std::map<std::string, std::vector<std::string>, std::less<>> values_;
    mutable std::mutex complaints_mutex_;
    mutable std::set<std::string> complaints_;
};

/* Folder of the library this code is linked into; empty when it cannot be told. */
std::string library_folder();

std::string_view trim(std::string_view text);
std::vector<std::string> split(std::string_view text, char separator);
bool parse_number(std::string_view text, long long *out);

} // namespace metrale::emulator

#endif
