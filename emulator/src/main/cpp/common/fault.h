#ifndef METRALE_EMULATOR_COMMON_FAULT_H
#define METRALE_EMULATOR_COMMON_FAULT_H

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace metrale::emulator
{

/* What is to go wrong in one call. Nothing set: the call is left alone. */
struct Fault {
    std::optional<int> code;  /* returned at once, the work is not done */
    std::optional<int> async; /* reported later instead (where a library can) */
    int delay_ms = 0;         /* before the work; on the stream for stream operations */
    int block_ms = 0;         /* in the calling thread */
    bool hang = false;        /* the work never ends (released by an abort) */
    bool skip = false;        /* success is claimed, nothing is done */
    bool lost = false;        /* the device is lost from here on */
    int lost_code = 0;        /* code that says so; 0 lets the library choose */

    bool any() const
    {
        return code || async || delay_ms || block_ms || hang || skip || lost;
    }
};

/*
 * Faults asked for by `fault = library.function selector... action...`. The README lists the
 * words. Faults that end the process end it inside hit().
 */
class Faults
{
  public:
    static Faults &instance();

    /*
     * Called once per API call. `library` and `function` name it; `rank` and `device` are -1
     * where they mean nothing.
     */
    Fault hit(std::string_view library, std::string_view function, int rank = -1, int device = -1);

    /* Replaces all faults: reads the configuration again. */
    void reload();
    /* One line of the configuration, checked: false when a word is not known. */
    static bool valid(std::string_view line);

  private:
    struct Rule;
    Faults();

    std::atomic<bool> empty_{true};
    std::mutex mutex_;
    std::vector<std::shared_ptr<Rule>> rules_;
};

/*
 * The whole of it for calls that only block the caller: waits, hangs for ever when asked, and
 * hands back the code to return, if any. `skip` is left to the caller.
 */
Fault host_fault(std::string_view library, std::string_view function, int rank = -1,
                 int device = -1);

void sleep_ms(int milliseconds);

} // namespace metrale::emulator

#endif
