#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>

int run_worker(int argc, char **argv);

int main(int argc, char **argv)
{
    // Before anything looks: eight GPUs, small enough to run out of memory.
    setenv("METRALE_EMULATOR_GPUS", "8", 1);
    setenv("METRALE_EMULATOR_GPU_MEMORY", "4GiB", 1);
    setenv("METRALE_EMULATOR_GPU_7_KIND", "gb10", 1);
    if (argc > 1 && std::strcmp(argv[1], "worker") == 0)
        return run_worker(argc, argv);
    doctest::Context context(argc, argv);
    return context.run();
}
