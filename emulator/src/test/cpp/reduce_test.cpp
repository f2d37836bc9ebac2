#include "nccl/reduce.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cuda_fp8.h>
#include <limits>

using namespace metrale::emulator::nccl;

TEST_SUITE_BEGIN("reduce");

TEST_CASE("converts every narrow value there and back")
{
    for (int bits = 0; bits < 65536; ++bits) {
        auto narrow = static_cast<uint16_t>(bits);
        float fp16 = half_to_float(narrow);
        if (!std::isnan(fp16))
            CHECK(float_to_half(fp16) == narrow);
        float bfloat = bfloat_to_float(narrow);
        if (!std::isnan(bfloat))
            CHECK(float_to_bfloat(bfloat) == narrow);
    }
    for (int bits = 0; bits < 256; ++bits) {
        auto narrow = static_cast<uint8_t>(bits);
        float e4m3 = e4m3_to_float(narrow);
        if (!std::isnan(e4m3))
            CHECK(float_to_e4m3(e4m3) == narrow);
        float e5m2 = e5m2_to_float(narrow);
        if (std::isfinite(e5m2))
            CHECK(float_to_e5m2(e5m2) == narrow);
    }
}

TEST_CASE("rounds to nearest even and saturates as the device does")
{
    CHECK(float_to_half(1.0F + 0x1p-11F) == 0x3c00);
    CHECK(float_to_half(1.0F + 3 * 0x1p-11F) == 0x3c02);
    CHECK(float_to_half(65520.0F) == 0x7c00);
    CHECK(float_to_half(65519.0F) == 0x7bff);
    CHECK(float_to_half(0x1p-25F) == 0);
    CHECK(float_to_half(0x1.8p-25F) == 1);
    CHECK(float_to_half(-0x1p-24F) == 0x8001);
    CHECK(float_to_bfloat(1.0F + 0x1p-8F) == 0x3f80);
    CHECK(float_to_e4m3(1000.0F) == 0x7e);
    CHECK(float_to_e4m3(-std::numeric_limits<float>::infinity()) == 0xfe);
    CHECK(float_to_e5m2(1e9F) == 0x7b);
    CHECK((float_to_e4m3(std::nanf("")) & 0x7f) == 0x7f);
}

TEST_CASE("agrees with the vendor's own conversions to eight bits")
{
    for (int i = -200000; i < 200000; ++i) {
        float value = static_cast<float>(i) * 0.00317F;
        auto e4m3 = static_cast<uint8_t>(__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3));
        auto e5m2 = static_cast<uint8_t>(__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E5M2));
        REQUIRE(float_to_e4m3(value) == e4m3);
        REQUIRE(float_to_e5m2(value) == e5m2);
    }
}

namespace
{

template <typename T>
std::vector<T> combine(int type, int op, const std::vector<std::vector<T>> &inputs, int divide = 1)
{
    std::vector<T> result(inputs[0].size());
    std::vector<Input> all;
    for (const std::vector<T> &input : inputs)
        all.push_back({reinterpret_cast<const char *>(input.data()), 0, false});
    reduce(type, op, all, {reinterpret_cast<char *>(result.data())}, result.size(), divide);
    return result;
}

} // namespace

TEST_CASE("wraps integers and divides their sum for an average")
{
    CHECK(combine<int8_t>(ncclInt8, ncclSum, {{127}, {1}})[0] == -128);
    CHECK(combine<int8_t>(ncclInt8, ncclSum, {{-3}, {-4}}, 2)[0] == -3);
    CHECK(combine<uint8_t>(ncclUint8, ncclProd, {{20}, {20}})[0] == 144);
    CHECK(combine<int32_t>(ncclInt32, ncclProd, {{65536}, {65536}})[0] == 0);
    CHECK(combine<int64_t>(ncclInt64, ncclMin, {{-5}, {7}})[0] == -5);
    CHECK(combine<uint64_t>(ncclUint64, ncclMax, {{~0ULL}, {7}})[0] == ~0ULL);
}

TEST_CASE("rounds after every step")
{
    // 2048 + 1 is 2048 in half precision, twice; in one go it would be 2050.
    uint16_t large = float_to_half(2048);
    uint16_t one = float_to_half(1);
    CHECK(combine<uint16_t>(ncclFloat16, ncclSum, {{large}, {one}, {one}})[0] == large);
    uint8_t big = float_to_e4m3(448);
    CHECK(combine<uint8_t>(ncclFloat8e4m3, ncclSum, {{big}, {big}})[0] == big);
    CHECK(combine<float>(ncclFloat32, ncclMin, {{1.5F}, {std::nanf("")}})[0] == 1.5F);
}

TEST_CASE("multiplies first where asked, with the scalar in the element type")
{
    std::vector<float> a{1, 2};
    std::vector<float> b{3, 4};
    std::vector<float> out(2);
    uint64_t scalar = reciprocal(ncclFloat32, 2);
    std::vector<Input> inputs{{reinterpret_cast<const char *>(a.data()), scalar, true},
                              {reinterpret_cast<const char *>(b.data()), scalar, true}};
    reduce(ncclFloat32, ncclSum, inputs, {reinterpret_cast<char *>(out.data())}, 2, 1);
    CHECK(out[0] == 2);
    CHECK(out[1] == 3);
    CHECK(e4m3_to_float(static_cast<uint8_t>(reciprocal(ncclFloat8e4m3, 3))) == 0.34375F);
}

TEST_SUITE_END();
