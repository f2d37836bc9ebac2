#include "common/config.h"
#include "common/fault.h"
#include "common/profile.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

using namespace metrale::emulator;

TEST_SUITE_BEGIN("common");

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
