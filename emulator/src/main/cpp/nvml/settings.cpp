#include "settings.hpp"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

#include <sys/stat.h>

namespace metrale::telemetry
{
namespace
{

using Values = std::map<std::string, std::string, std::less<>>;

/* The file when first seen, which the common configuration has too, and the file as it is now. */
struct LiveFile {
    std::mutex mutex;
    bool seen = false;
    struct timespec modified = {};
    off_t size = -1;
    ino_t inode = 0;
    Values first;
    Values now;
    std::map<std::string, std::size_t, std::less<>> positions;
};

/* Never destroyed: calls may still arrive while the process ends. */
LiveFile &live_file()
{
    static LiveFile *instance = new LiveFile;
    return *instance;
}

Values load(const char *path)
{
    Values values;
    std::ifstream file(path);
    std::string line;
    while (std::getline(file, line)) {
        const std::string_view text = trim(line);
        const std::size_t equals = text.find('=');
        if (!text.empty() && text.front() != '#' && equals != std::string_view::npos)
            values[std::string(trim(text.substr(0, equals)))] = trim(text.substr(equals + 1));
    }
    return values;
}

bool is_unchanged(const LiveFile &file, const struct stat &status)
{
    return file.inode == status.st_ino && file.size == status.st_size &&
           file.modified.tv_sec == status.st_mtim.tv_sec &&
           file.modified.tv_nsec == status.st_mtim.tv_nsec;
}

void refresh(LiveFile &file)
{
    const char *path = std::getenv("METRALE_EMULATOR_CONFIG");
    struct stat status = {};
    const bool is_first = !file.seen;
    file.seen = true;
    if (path == nullptr || stat(path, &status) != 0 || is_unchanged(file, status))
        return;
    file.now = load(path);
    if (is_first)
        file.first = file.now;
    file.inode = status.st_ino;
    file.size = status.st_size;
    file.modified = status.st_mtim;
}

std::optional<std::string> find(const Values &values, std::string_view key)
{
    const auto found = values.find(key);
    return found == values.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> configured(std::string_view key)
{
    const emulator::Configuration &common = emulator::Configuration::instance();
    std::string text = common.text(key, "\n");
    return text == "\n" ? std::nullopt : std::optional(std::move(text));
}

template <typename T> std::optional<T> parse(std::string_view text, int base)
{
    T value = {};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size() || text.empty())
        return std::nullopt;
    return value;
}

} // namespace

std::optional<std::string> setting(std::string_view key)
{
    std::optional<std::string> common = configured(key);
    LiveFile &file = live_file();
    const std::lock_guard lock(file.mutex);
    refresh(file);
    const std::optional<std::string> first = find(file.first, key);
    if (common != first)
        return common; /* of a variable, or added since */
    return find(file.now, key);
}

std::string setting_or(std::string_view key, std::string_view fallback)
{
    return setting(key).value_or(std::string(fallback));
}

std::int64_t setting_number(std::string_view key, std::int64_t fallback)
{
    return emulator::Configuration::instance().number_of(key, setting_or(key, ""), fallback);
}

bool setting_flag(std::string_view key, bool fallback)
{
    return emulator::Configuration::instance().flag_of(key, setting_or(key, ""), fallback);
}

std::optional<std::uint64_t> parse_unsigned(std::string_view text)
{
    if (text.starts_with("0x"))
        return parse<std::uint64_t>(text.substr(2), 16);
    return parse<std::uint64_t>(text, 10);
}

std::optional<std::int64_t> parse_signed(std::string_view text)
{
    return parse<std::int64_t>(text, 10);
}

std::optional<double> parse_real(std::string_view text)
{
    const std::string copy(text);
    char *end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    if (copy.empty() || *end != '\0')
        return std::nullopt;
    return value;
}

std::string next_of(std::string_view key, const std::string &text)
{
    if (text.find(',') == std::string::npos)
        return text;
    const std::vector<std::string> answers = split(text, ',');
    if (answers.empty())
        return {};
    LiveFile &file = live_file();
    const std::lock_guard lock(file.mutex);
    /* A changed sequence starts from its beginning. */
    std::size_t &position = file.positions[std::string(key) + '=' + text];
    const std::size_t at = std::min(position, answers.size() - 1);
    position = at + 1;
    return answers[at];
}

void sleep_milliseconds(double milliseconds)
{
    if (milliseconds > 0)
        std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
}

} // namespace metrale::telemetry
