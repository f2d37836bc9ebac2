#include "common/fault.h"

#include "common/config.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <unistd.h>

namespace metrale::emulator
{

struct Faults::Rule {
    std::string library;
    std::string function;
    long long call = 0; /* exactly this one, from 1 */
    long long from = 0; /* this one and all later ones */
    long long every = 0;
    int rank = -1;
    int device = -1;
    bool kill = false;
    int exit_status = -1;
    Fault fault;
    long long seen = 0;

    bool matches(std::string_view library_name, std::string_view function_name, int at_rank,
                 int at_device)
    {
        if (library != library_name || (function != "*" && function != function_name))
            return false;
        if ((rank >= 0 && rank != at_rank) || (device >= 0 && device != at_device))
            return false;
        ++seen;
        if (call > 0)
            return seen == call;
        if (from > 0)
            return seen >= from;
        return every <= 0 || seen % every == 0;
    }
};

namespace
{

bool split_word(const std::string &word, std::string *name, long long *value, bool *has_value)
{
    size_t equals = word.find('=');
    *name = word.substr(0, equals);
    *has_value = equals != std::string::npos;
    *value = 0;
    return !*has_value || parse_number(std::string_view(word).substr(equals + 1), value);
}

} // namespace

/* Words of one rule; the README has the list. */
template <typename Rule> static bool parse_rule(std::string_view line, Rule &rule)
{
    std::vector<std::string> words = split(line, ' ');
    if (words.empty())
        return false;
    size_t dot = words[0].find('.');
    if (dot == std::string::npos)
        return false;
    rule.library = words[0].substr(0, dot);
    rule.function = words[0].substr(dot + 1);

    bool acts = false;
    for (size_t i = 1; i < words.size(); ++i) {
        std::string name;
        long long value = 0;
        bool has_value = false;
        if (!split_word(words[i], &name, &value, &has_value))
            return false;
        int small = static_cast<int>(value);
        bool selects = true;
        if (name == "call" && has_value)
            rule.call = value;
        else if (name == "from" && has_value)
            rule.from = value;
        else if (name == "every" && has_value)
            rule.every = value;
        else if (name == "rank" && has_value)
            rule.rank = small;
        else if (name == "device" && has_value)
            rule.device = small;
        else
            selects = false;
        if (selects)
            continue;

        acts = true;
        if (name == "code" && has_value)
            rule.fault.code = small;
        else if (name == "async" && has_value)
            rule.fault.async = small;
        else if (name == "delay" && has_value)
            rule.fault.delay_ms = small;
        else if (name == "block" && has_value)
            rule.fault.block_ms = small;
        else if (name == "hang" && !has_value)
            rule.fault.hang = true;
        else if (name == "skip" && !has_value)
            rule.fault.skip = true;
        else if (name == "kill" && !has_value)
            rule.kill = true;
        else if (name == "exit")
            rule.exit_status = has_value ? small : 1;
        else if (name == "lost") {
            rule.fault.lost = true;
            rule.fault.lost_code = small;
        } else {
            return false;
        }
    }
    return acts;
}

Faults &Faults::instance()
{
    static Faults *only = new Faults();
    return *only;
}

Faults::Faults()
{
    reload();
}

bool Faults::valid(std::string_view line)
{
    Rule rule;
    return parse_rule(line, rule);
}

void Faults::reload()
{
    std::lock_guard<std::mutex> lock(mutex_);
    rules_.clear();
    for (const std::string &line : Configuration::instance().list("fault")) {
        auto rule = std::make_shared<Rule>();
        if (parse_rule(line, *rule))
            rules_.push_back(std::move(rule));
        else
            std::fprintf(stderr, "metrale emulator: cannot read fault '%s'\n", line.c_str());
    }
    empty_.store(rules_.empty(), std::memory_order_release);
}

Fault Faults::hit(std::string_view library, std::string_view function, int rank, int device)
{
    // The usual case costs one load.
    if (empty_.load(std::memory_order_acquire))
        return {};

    std::lock_guard<std::mutex> lock(mutex_);
    Fault result;
    for (const std::shared_ptr<Rule> &rule : rules_) {
        if (!rule->matches(library, function, rank, device))
            continue;
        if (rule->kill)
            raise(SIGKILL);
        if (rule->exit_status >= 0)
            _exit(rule->exit_status);
        const Fault &fault = rule->fault;
        if (fault.code)
            result.code = fault.code;
        if (fault.async)
            result.async = fault.async;
        result.delay_ms += fault.delay_ms;
        result.block_ms += fault.block_ms;
        result.hang = result.hang || fault.hang;
        result.skip = result.skip || fault.skip;
        if (fault.lost) {
            result.lost = true;
            result.lost_code = fault.lost_code;
        }
    }
    return result;
}

void sleep_ms(int milliseconds)
{
    struct timespec left;
    left.tv_sec = milliseconds / 1000;
    left.tv_nsec = (milliseconds % 1000) * 1000000L;
    while (nanosleep(&left, &left) != 0) {
    }
}

Fault host_fault(std::string_view library, std::string_view function, int rank, int device)
{
    Fault fault = Faults::instance().hit(library, function, rank, device);
    if (fault.block_ms + fault.delay_ms > 0)
        sleep_ms(fault.block_ms + fault.delay_ms);
    while (fault.hang)
        sleep_ms(1000);
    return fault;
}

} // namespace metrale::emulator
