#define DOCTEST_CONFIG_NO_SHORT_MACRO_NAMES
#include <doctest/doctest.h>

int main(int argc, char **argv)
{
    doctest::Context context(argc, argv);
    return context.run();
}
