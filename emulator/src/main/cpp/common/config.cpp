#include "common/config.h"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <sstream>

namespace metrale::emulator
{

namespace
{

const char kPrefix[] = "METRALE_EMULATOR_";

std::string variable_of(std::string_view key)
{
    std::string name = kPrefix;
    for (char c : key)
        name += c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return name;
}

} // namespace

std::string_view trim(std::string_view text)
{
    const char *blanks = " \t\r\n";
    size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos)
        return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> split(std::string_view text, char separator)
{
    std::vector<std::string> parts;
    while (!text.empty()) {
        size_t end = text.find(separator);
        std::string_view part = trim(text.substr(0, end));
        if (!part.empty())
            parts.emplace_back(part);
        if (end == std::string_view::npos)
            break;
        text.remove_prefix(end + 1);
    }
    return parts;
}

bool parse_number(std::string_view text, long long *out)
{
    std::string copy(trim(text));
    char *end = nullptr;

    errno = 0;
    long long value = std::strtoll(copy.c_str(), &end, 0);
    if (end == copy.c_str() || errno != 0)
        return false;
    std::string_view unit = trim(end);
    int shift = 0;
    if (unit == "KiB")
        shift = 10;
    else if (unit == "MiB")
        shift = 20;
    else if (unit == "GiB")
        shift = 30;
    else if (unit == "TiB")
        shift = 40;
    else if (!unit.empty())
        return false;
    return !__builtin_mul_overflow(value, 1LL << shift, out);
}

std::string library_folder()
{
    Dl_info info;
    if (dladdr(reinterpret_cast<const void *>(&library_folder), &info) == 0 || !info.dli_fname)
        return {};
    std::string path = info.dli_fname;
    size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

Configuration &Configuration::instance()
{
    // Never destroyed: worker threads may outlive the static destructors.
    static Configuration *only = new Configuration();
    return *only;
}

Configuration::Configuration()
{
    std::string folder = library_folder();
    if (!folder.empty())
        read_file(folder + "/emulator.conf");
    const char *named = std::getenv("METRALE_EMULATOR_CONFIG");
    if (named != nullptr && *named != '\0' && !read_file(named))
        complain(std::string("cannot read METRALE_EMULATOR_CONFIG=") + named);
}

bool Configuration::read_file(const std::string &path)
{
    std::ifstream file(path);
    if (!file.is_open())
        return false;
    file.peek();
    if (file.eof())
        return true; /* it is empty */
    std::ostringstream content;
    content << file.rdbuf();
    if (!file || !content)
        return false;
    parse(content.str());
    return true;
}

void Configuration::complain(const std::string &what) const
{
    std::lock_guard<std::mutex> lock(complaints_mutex_);
    if (complaints_.insert(what).second)
        std::fprintf(stderr, "metrale emulator: %s\n", what.c_str());
}

void Configuration::refuse(std::string_view key, std::string_view value,
                           std::string_view expected) const
{
    complain("cannot read " + std::string(key) + " = " + std::string(value) + ", expected " +
             std::string(expected) + "; it is left out");
}

void Configuration::parse(std::string_view lines)
{
    for (const std::string &line : split(lines, '\n')) {
        if (line[0] == '#')
            continue;
        size_t equals = line.find('=');
        if (equals == std::string::npos || equals == 0) {
            complain("cannot read the line '" + line + "', expected key = value");
            continue;
        }
        std::string key(trim(std::string_view(line).substr(0, equals)));
        values_[key].emplace_back(trim(std::string_view(line).substr(equals + 1)));
    }
}

void Configuration::add(std::string_view lines)
{
    std::lock_guard<std::mutex> lock(mutex_);
    parse(lines);
}

void Configuration::remove(std::string_view key)
{
    std::lock_guard<std::mutex> lock(mutex_);
    values_.erase(std::string(key));
}

std::string Configuration::text(std::string_view key, std::string_view fallback) const
{
    const char *value = std::getenv(variable_of(key).c_str());
    if (value != nullptr)
        return std::string(trim(value));
    std::lock_guard<std::mutex> lock(mutex_);
    auto found = values_.find(key);
    return found == values_.end() ? std::string(fallback) : found->second.back();
}

long long Configuration::number(std::string_view key, long long fallback) const
{
    return number_of(key, text(key, ""), fallback);
}

long long Configuration::number_of(std::string_view key, std::string_view value,
                                   long long fallback) const
{
    long long result = 0;
    if (trim(value).empty())
        return fallback;
    if (parse_number(value, &result))
        return result;
    refuse(key, value, "a number, or one with KiB, MiB, GiB or TiB");
    return fallback;
}

bool Configuration::flag(std::string_view key, bool fallback) const
{
    return flag_of(key, text(key, ""), fallback);
}

bool Configuration::flag_of(std::string_view key, std::string_view value, bool fallback) const
{
    if (value.empty())
        return fallback;
    if (value == "1" || value == "true" || value == "yes" || value == "on")
        return true;
    if (value != "0" && value != "false" && value != "no" && value != "off") {
        refuse(key, value, "0 or 1");
        return fallback;
    }
    return false;
}

std::string_view Configuration::choice(std::string_view key,
                                       const std::vector<std::string_view> &words) const
{
    std::string value = text(key, words.front());
    std::string expected;
    for (std::string_view word : words) {
        if (word == value || value.empty())
            return word;
        expected += (expected.empty() ? "" : " or ") + std::string(word);
    }
    refuse(key, value, expected);
    return words.front();
}

std::vector<std::string> Configuration::list(std::string_view key) const
{
    std::vector<std::string> result;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        auto found = values_.find(key);
        if (found != values_.end())
            result = found->second;
    }
    const char *value = std::getenv(variable_of(key).c_str());
    if (value != nullptr) {
        for (std::string &part : split(value, ';'))
            result.push_back(std::move(part));
    }
    return result;
}

} // namespace metrale::emulator
