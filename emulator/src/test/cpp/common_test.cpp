#include "common/config.h"
#include "common/fault.h"
#include "common/profile.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace metrale::emulator;

TEST_SUITE_BEGIN("common");

namespace
{

/* What this process writes to standard error while it lives. */
class Said
{
  public:
    Said() : file_(std::tmpfile()), before_(dup(STDERR_FILENO))
    {
        dup2(fileno(file_), STDERR_FILENO);
    }

    ~Said()
    {
        dup2(before_, STDERR_FILENO);
        close(before_);
        std::fclose(file_);
    }

    Said(const Said &) = delete;
    Said &operator=(const Said &) = delete;

    std::string lines() const
    {
        std::string text;
        std::rewind(file_);
        for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_))
            text += static_cast<char>(c);
        return text;
    }

  private:
    std::FILE *file_;
    int before_;
};

} // namespace

TEST_CASE("reads keys, numbers with units, flags and lists")
{
    Configuration &config = Configuration::instance();
    config.add(
        "# a comment\nsize = 2 GiB\nhex=0x10\nbad = 3 apples\non = yes\nmany = a\n many = b");
    CHECK(config.number("size", 0) == 2LL << 30);
    CHECK(config.number("hex", 0) == 16);
    CHECK(config.number("bad", 7) == 7);
    CHECK(config.flag("on", false));
    CHECK(config.text("none", "x") == "x");
    CHECK(config.list("many").size() == 2);
    setenv("METRALE_EMULATOR_HEX", "5", 1);
    CHECK(config.number("hex", 0) == 5);
    unsetenv("METRALE_EMULATOR_HEX");
    setenv("METRALE_EMULATOR_MANY", "c; d", 1);
    CHECK(config.list("many").size() == 4);
    unsetenv("METRALE_EMULATOR_MANY");
}

TEST_CASE("says once what cannot be read and leaves it out")
{
    Configuration &config = Configuration::instance();
    Said said;
    config.add("apples = 3 of them\nhuge = 9223372036854775807 GiB\nmaybe = perhaps\nno equals\n"
               "= nameless\nword = neither\nempty =");
    for (int i = 0; i < 2; ++i) {
        CHECK(config.number("apples", 7) == 7);
        CHECK(config.number("huge", 7) == 7);
        CHECK(config.flag("maybe", true));
        CHECK_FALSE(config.flag("maybe", false));
        CHECK(config.choice("word", {"one", "other"}) == "one");
        CHECK(config.number("empty", 7) == 7);
        CHECK(config.choice("empty", {"one", "other"}) == "one");
    }
    CHECK(said.lines() ==
          "metrale emulator: cannot read the line 'no equals', expected key = value\n"
          "metrale emulator: cannot read the line '= nameless', expected key = value\n"
          "metrale emulator: cannot read apples = 3 of them, expected a number, or one with KiB, "
          "MiB, GiB or TiB; it is left out\n"
          "metrale emulator: cannot read huge = 9223372036854775807 GiB, expected a number, or one "
          "with KiB, MiB, GiB or TiB; it is left out\n"
          "metrale emulator: cannot read maybe = perhaps, expected 0 or 1; it is left out\n"
          "metrale emulator: cannot read word = neither, expected one or other; it is left out\n");
}

TEST_CASE("reads faults and refuses nonsense")
{
    CHECK(Faults::valid("nccl.ncclAllReduce call=3 code=2"));
    CHECK(Faults::valid("cuda.cuInit lost"));
    CHECK(Faults::valid("nccl.ncclSend rank=1 from=2 hang"));
    CHECK_FALSE(Faults::valid("nccl.ncclSend"));
    CHECK_FALSE(Faults::valid("ncclSend code=1"));
    CHECK_FALSE(Faults::valid("nccl.ncclSend code=x"));
    CHECK_FALSE(Faults::valid("nccl.ncclSend explode"));
}

TEST_CASE("counts calls per fault and selects by rank")
{
    Configuration::instance().add("fault = lib.f call=2 code=5\nfault = lib.g rank=1 code=6\n"
                                  "fault = lib.h every=2 skip\nfault = lib.i from=2 delay=3");
    Faults &faults = Faults::instance();
    faults.reload();
    CHECK_FALSE(faults.hit("lib", "f").any());
    CHECK(faults.hit("lib", "f").code == 5);
    CHECK_FALSE(faults.hit("lib", "f").any());
    CHECK_FALSE(faults.hit("lib", "g", 0).any());
    CHECK(faults.hit("lib", "g", 1).code == 6);
    CHECK_FALSE(faults.hit("lib", "h").skip);
    CHECK(faults.hit("lib", "h").skip);
    CHECK_FALSE(faults.hit("lib", "i").any());
    CHECK(faults.hit("lib", "i").delay_ms == 3);
    CHECK(faults.hit("lib", "i").delay_ms == 3);
    Configuration::instance().remove("fault");
    faults.reload();
    CHECK_FALSE(faults.hit("lib", "g", 1).any());
}

TEST_CASE("describes GPUs that differ")
{
    REQUIRE(gpus().size() == 8);
    CHECK(gpus()[0].name == "NVIDIA H200");
    CHECK(gpus()[7].integrated);
    CHECK(gpus()[0].uuid_text().size() == 40);
    for (size_t i = 0; i < 8; ++i) {
        for (size_t j = 0; j < i; ++j) {
            CHECK(gpus()[i].uuid != gpus()[j].uuid);
            CHECK(gpus()[i].pci_text() != gpus()[j].pci_text());
        }
    }
}

namespace
{

/* Exit status of a process that looks names up: bit i is set where name i is found. */
int found_names(const char *library, const char *environment, const char *value, const char *first,
                const char *second)
{
    pid_t child = fork();
    if (child == 0) {
        setenv(environment, value, 1);
        execl("/proc/self/exe", "test", "worker", "names", library, first, second,
              static_cast<char *>(nullptr));
        _exit(99);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST_CASE("hides a symbol from dlsym, and only that one")
{
    std::string nccl = std::string(METRALE_EMULATOR_FOLDER) + "/libnccl.so.2";
    CHECK(found_names(nccl.c_str(), "METRALE_EMULATOR_ABSENT", "", "ncclCommShrink",
                      "pncclCommShrink") == 3);
    CHECK(found_names(nccl.c_str(), "METRALE_EMULATOR_ABSENT", "ncclCommShrink", "ncclCommShrink",
                      "pncclCommShrink") == 2);
    std::string cuda = std::string(METRALE_EMULATOR_FOLDER) + "/libcuda.so.1";
    CHECK(found_names(cuda.c_str(), "METRALE_EMULATOR_ABSENT", "cuStreamGetDevice,cuInit",
                      "cuStreamGetDevice", "cuMemAlloc_v2") == 2);
}

TEST_CASE("hides what came after the version it claims")
{
    std::string nccl = std::string(METRALE_EMULATOR_FOLDER) + "/libnccl.so.2";
    CHECK(found_names(nccl.c_str(), "METRALE_EMULATOR_NCCL_VERSION", "22304", "ncclCommShrink",
                      "ncclCommInitRankScalable") == 2);
}

TEST_CASE("marks every library")
{
    for (const char *name : {"/libcuda.so.1", "/libnccl.so.2"}) {
        void *library = dlopen((std::string(METRALE_EMULATOR_FOLDER) + name).c_str(), RTLD_NOW);
        REQUIRE(library != nullptr);
        auto *marker = static_cast<const char *>(dlsym(library, "metrale_emulator_marker"));
        REQUIRE(marker != nullptr);
        CHECK(std::string(marker).find("emulator") != std::string::npos);
        dlclose(library);
    }
}

TEST_SUITE_END();
