#include "nccl/reduce.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

namespace metrale::emulator::nccl
{

namespace
{

uint32_t bits_of(float value)
{
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
}

float float_of(uint32_t bits)
{
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Magnitude of a finite value in a small format, rounded to nearest even; may overflow it. */
uint32_t round_to(uint32_t magnitude, int exponent_bias, int mantissa_bits)
{
    int exponent = static_cast<int>(magnitude >> 23) - 127 + exponent_bias;
    uint32_t mantissa = (magnitude & 0x7fffffU) | 0x800000U;
    int drop = 23 - mantissa_bits;

    if (exponent <= 0) {
        // Subnormal there: the leading one becomes visible and moves right.
        drop += 1 - exponent;
        if (drop > 24)
            return 0;
        exponent = 0;
    } else {
        mantissa &= 0x7fffffU;
    }
    uint32_t kept = mantissa >> drop;
    uint32_t rest = mantissa & ((1U << drop) - 1);
    uint32_t half = 1U << (drop - 1);
    if (rest > half || (rest == half && (kept & 1) != 0))
        ++kept;
    // A carry out of the mantissa runs into the exponent, as it should.
    return (static_cast<uint32_t>(exponent) << mantissa_bits) + kept;
}

float expand(uint32_t magnitude, int exponent_bias, int mantissa_bits)
{
    uint32_t exponent = magnitude >> mantissa_bits;
    uint32_t mantissa = magnitude & ((1U << mantissa_bits) - 1);
    if (exponent == 0)
        return std::ldexp(static_cast<float>(mantissa), 1 - exponent_bias - mantissa_bits);
    return float_of((exponent + 127U - static_cast<uint32_t>(exponent_bias)) << 23 |
                    mantissa << (23 - mantissa_bits));
}

} // namespace

float half_to_float(uint16_t bits)
{
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000U) << 16;
    uint32_t magnitude = bits & 0x7fffU;
    if (magnitude >= 0x7c00U)
        return float_of(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13);
    return float_of(sign | bits_of(expand(magnitude, 15, 10)));
}

uint16_t float_to_half(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 16 & 0x8000U;
    uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U)
        return 0x7fffU;
    if (magnitude == 0x7f800000U)
        return static_cast<uint16_t>(sign | 0x7c00U);
    return static_cast<uint16_t>(sign | std::min(round_to(magnitude, 15, 10), 0x7c00U));
}

float bfloat_to_float(uint16_t bits)
{
    return float_of(static_cast<uint32_t>(bits) << 16);
}

uint16_t float_to_bfloat(float value)
{
    uint32_t bits = bits_of(value);
    if ((bits & 0x7fffffffU) > 0x7f800000U)
        return 0x7fffU;
    return static_cast<uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

float e4m3_to_float(uint8_t bits)
{
    uint32_t sign = static_cast<uint32_t>(bits & 0x80U) << 24;
    uint32_t magnitude = bits & 0x7fU;
    if (magnitude == 0x7fU)
        return float_of(sign | 0x7fc00000U);
    return float_of(sign | bits_of(expand(magnitude, 7, 3)));
}

uint8_t float_to_e4m3(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 24 & 0x80U;
    uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U)
        return static_cast<uint8_t>(sign | 0x7fU);
    // No infinity: what is too large becomes the largest, as the device's conversion does.
    uint32_t rounded = magnitude >= 0x7f800000U ? 0x7eU : round_to(magnitude, 7, 3);
    return static_cast<uint8_t>(sign | std::min(rounded, 0x7eU));
}

float e5m2_to_float(uint8_t bits)
{
    return half_to_float(static_cast<uint16_t>(bits << 8));
}

uint8_t float_to_e5m2(float value)
{
    uint32_t bits = bits_of(value);
    uint32_t sign = bits >> 24 & 0x80U;
    uint32_t magnitude = bits & 0x7fffffffU;
    if (magnitude > 0x7f800000U)
        return static_cast<uint8_t>(sign | 0x7fU);
    uint32_t rounded = magnitude >= 0x7f800000U ? 0x7bU : round_to(magnitude, 15, 2);
    return static_cast<uint8_t>(sign | std::min(rounded, 0x7bU));
}

namespace
{

/* An integer: arithmetic wraps, as on the device. */
template <typename T> struct Integer {
    using Stored = T;
    using Value = T;
    using Wide = std::make_unsigned_t<T>;

    static Value load(Stored stored)
    {
        return stored;
    }
    static Stored store(Value value)
    {
        return value;
    }
    static Value sum(Value a, Value b)
    {
        return static_cast<T>(static_cast<Wide>(static_cast<Wide>(a) + static_cast<Wide>(b)));
    }
    static Value product(Value a, Value b)
    {
        // Through 64 bits: narrow unsigned types would be promoted to int and could overflow.
        return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    }
    static Value least(Value a, Value b)
    {
        return std::min(a, b);
    }
    static Value greatest(Value a, Value b)
    {
        return std::max(a, b);
    }
    static Value quotient(Value a, int n)
    {
        if constexpr (std::is_signed_v<T>)
            return static_cast<T>(static_cast<int64_t>(a) / n);
        else
            return static_cast<T>(static_cast<uint64_t>(a) / static_cast<uint64_t>(n));
    }
};

template <typename T> struct Floating {
    using Stored = T;
    using Value = T;

    static Value load(Stored stored)
    {
        return stored;
    }
    static Stored store(Value value)
    {
        return value;
    }
    static Value sum(Value a, Value b)
    {
        return a + b;
    }
    static Value product(Value a, Value b)
    {
        return a * b;
    }
    static Value least(Value a, Value b)
    {
        return std::fmin(a, b);
    }
    static Value greatest(Value a, Value b)
    {
        return std::fmax(a, b);
    }
    static Value quotient(Value a, int)
    {
        return a;
    }
};

/*
 * A narrow floating-point type: computed in float and rounded after every step. One operation
 * on two narrow values is exact enough in float for that to be the correctly rounded result.
 */
template <typename T, float (*Widen)(T), T (*Narrow)(float)> struct Small {
    using Stored = T;
    using Value = float;

    static Value load(Stored stored)
    {
        return Widen(stored);
    }
    static Stored store(Value value)
    {
        return Narrow(value);
    }
    static Value sum(Value a, Value b)
    {
        return Widen(Narrow(a + b));
    }
    static Value product(Value a, Value b)
    {
        return Widen(Narrow(a * b));
    }
    static Value least(Value a, Value b)
    {
        return std::fmin(a, b);
    }
    static Value greatest(Value a, Value b)
    {
        return std::fmax(a, b);
    }
    static Value quotient(Value a, int)
    {
        return a;
    }
};

using Half = Small<uint16_t, half_to_float, float_to_half>;
using Bfloat = Small<uint16_t, bfloat_to_float, float_to_bfloat>;
using E4m3 = Small<uint8_t, e4m3_to_float, float_to_e4m3>;
using E5m2 = Small<uint8_t, e5m2_to_float, float_to_e5m2>;

template <typename Format> typename Format::Value scalar_of(uint64_t bits)
{
    typename Format::Stored stored;
    std::memcpy(&stored, &bits, sizeof(stored));
    return Format::load(stored);
}

/* Small enough to stay in the nearest cache while every input passes over it. */
constexpr size_t kBlock = 2048;

template <typename Format> struct Reducer {
    using Stored = typename Format::Stored;
    using Value = typename Format::Value;

    static void load(const Input &input, size_t at, size_t length, Value *values)
    {
        const Stored *source = reinterpret_cast<const Stored *>(input.data) + at;
        for (size_t i = 0; i < length; ++i)
            values[i] = Format::load(source[i]);
        if (!input.premultiply)
            return;
        Value scalar = scalar_of<Format>(input.scalar);
        for (size_t i = 0; i < length; ++i)
            values[i] = Format::product(values[i], scalar);
    }

    template <typename Step>
    static void accumulate(const Input &input, size_t at, size_t length, Value *sums, Step step)
    {
        if (!input.premultiply) {
            const Stored *source = reinterpret_cast<const Stored *>(input.data) + at;
            for (size_t i = 0; i < length; ++i)
                sums[i] = step(sums[i], Format::load(source[i]));
            return;
        }
        Value values[kBlock];
        load(input, at, length, values);
        for (size_t i = 0; i < length; ++i)
            sums[i] = step(sums[i], values[i]);
    }

    static void step(int op, const Input &input, size_t at, size_t length, Value *sums)
    {
        switch (op) {
        case ncclProd:
            accumulate(input, at, length, sums, Format::product);
            break;
        case ncclMax:
            accumulate(input, at, length, sums, Format::greatest);
            break;
        case ncclMin:
            accumulate(input, at, length, sums, Format::least);
            break;
        default:
            accumulate(input, at, length, sums, Format::sum);
        }
    }

    static void run(int op, const std::vector<Input> &inputs, const std::vector<char *> &outputs,
                    size_t count, int divide)
    {
        Value sums[kBlock];
        for (size_t at = 0; at < count; at += kBlock) {
            size_t length = std::min(kBlock, count - at);
            load(inputs[0], at, length, sums);
            for (size_t k = 1; k < inputs.size(); ++k)
                step(op, inputs[k], at, length, sums);
            if (divide > 1) {
                for (size_t i = 0; i < length; ++i)
                    sums[i] = Format::quotient(sums[i], divide);
            }
            for (char *output : outputs) {
                Stored *target = reinterpret_cast<Stored *>(output) + at;
                for (size_t i = 0; i < length; ++i)
                    target[i] = Format::store(sums[i]);
            }
        }
    }
};

template <typename Stored> uint64_t pack(Stored stored)
{
    uint64_t bits = 0;
    std::memcpy(&bits, &stored, sizeof(stored));
    return bits;
}

} // namespace

size_t element_bytes(int type)
{
    switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
        return 1;
    case ncclFloat16:
    case ncclBfloat16:
        return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
        return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
        return 8;
    default:
        return 0;
    }
}

bool is_floating(int type)
{
    return type >= ncclFloat16 && type < ncclNumTypes;
}

uint64_t reciprocal(int type, int n)
{
    float value = static_cast<float>(1.0 / n);
    switch (type) {
    case ncclFloat16:
        return float_to_half(value);
    case ncclBfloat16:
        return float_to_bfloat(value);
    case ncclFloat8e4m3:
        return float_to_e4m3(value);
    case ncclFloat8e5m2:
        return float_to_e5m2(value);
    case ncclFloat64:
        return pack(1.0 / n);
    default:
        return pack(value);
    }
}

void reduce(int type, int op, const std::vector<Input> &inputs, const std::vector<char *> &outputs,
            size_t count, int divide)
{
    switch (type) {
    case ncclInt8:
        return Reducer<Integer<int8_t>>::run(op, inputs, outputs, count, divide);
    case ncclUint8:
        return Reducer<Integer<uint8_t>>::run(op, inputs, outputs, count, divide);
    case ncclInt32:
        return Reducer<Integer<int32_t>>::run(op, inputs, outputs, count, divide);
    case ncclUint32:
        return Reducer<Integer<uint32_t>>::run(op, inputs, outputs, count, divide);
    case ncclInt64:
        return Reducer<Integer<int64_t>>::run(op, inputs, outputs, count, divide);
    case ncclUint64:
        return Reducer<Integer<uint64_t>>::run(op, inputs, outputs, count, divide);
    case ncclFloat16:
        return Reducer<Half>::run(op, inputs, outputs, count, divide);
    case ncclFloat32:
        return Reducer<Floating<float>>::run(op, inputs, outputs, count, divide);
    case ncclFloat64:
        return Reducer<Floating<double>>::run(op, inputs, outputs, count, divide);
    case ncclBfloat16:
        return Reducer<Bfloat>::run(op, inputs, outputs, count, divide);
    case ncclFloat8e4m3:
        return Reducer<E4m3>::run(op, inputs, outputs, count, divide);
    case ncclFloat8e5m2:
        return Reducer<E5m2>::run(op, inputs, outputs, count, divide);
    default:
        return;
    }
}

} // namespace metrale::emulator::nccl
